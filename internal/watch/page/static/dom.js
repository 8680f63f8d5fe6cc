// Elements, tables and small graphs. Text is only ever set as text.

const drawing = 'http://www.w3.org/2000/svg';

function fill(e, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, '');
    else if (value !== false && value != null) e.setAttribute(name, value);
  }
  e.append(...children); // strings become text
  return e;
}

// h makes an element of the page, s one of a drawing.
export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const s = (name, attributes, ...children) => fill(document.createElementNS(drawing, name), attributes, children);

// say changes text only if it is another one, so that nothing is drawn, or read aloud, for nothing.
export function say(e, text) {
  text = String(text);
  if (e.textContent !== text) e.textContent = text;
}

export function mark(e, name, value) {
  if (value == null || value === false) {
    if (e.hasAttribute(name)) e.removeAttribute(name);
  } else if (e.getAttribute(name) !== String(value)) e.setAttribute(name, value);
}

// A Table shows rows and keeps its elements from one update to the next. A column has a title, a text function and, if wanted: sort
// (its name in queries), number (right-aligned), kind (a class for a row), wide. The first column names the row.
export class Table {
  constructor(caption, columns, { onSort, onChoose } = {}) {
    this.columns = columns;
    this.onChoose = onChoose;
    this.heads = columns.map((c) => h('th', { scope: 'col', class: c.number && 'number' },
      c.sort && onSort ? h('button', { type: 'button', onclick: () => onSort(c) }, c.title) : c.title));
    this.body = h('tbody');
    this.rows = [];
    this.element = h('div', { class: 'scroll' },
      h('table', {}, h('caption', { class: 'hidden' }, caption), h('thead', {}, h('tr', {}, ...this.heads)), this.body));
  }

  // update shows rows. chosen is a function that tells whether a row is chosen.
  update(rows, { sort, ascending, chosen, empty = 'none' } = {}) {
    this.columns.forEach((c, i) => mark(this.heads[i], 'hidden', c.hide?.() ? '' : null));
    this.columns.forEach((c, i) => mark(this.heads[i], 'aria-sort', c.sort && c.sort === sort ? (ascending ? 'ascending' : 'descending') : null));
    while (this.rows.length > rows.length) this.rows.pop().tr.remove();
    while (this.rows.length < rows.length) this.rows.push(this.#row());
    rows.forEach((data, i) => this.#show(this.rows[i], data, chosen?.(data) ?? false));
    this.#empty(rows.length === 0, empty);
  }

  #row() {
    const row = { data: null };
    row.cells = this.columns.map((c, i) => h(i === 0 ? 'th' : 'td', { scope: i === 0 && 'row', class: c.number ? 'number' : c.wide && 'wide' }));
    row.texts = row.cells.map((cell, i) => {
      if (i > 0 || !this.onChoose) return cell;
      const button = h('button', { type: 'button', onclick: () => this.onChoose(row.data) });
      cell.append(button);
      return button;
    });
    row.tr = h('tr', {}, ...row.cells);
    this.body.append(row.tr);
    return row;
  }

  #show(row, data, chosen) {
    row.data = data;
    mark(row.tr, 'class', chosen ? 'chosen' : null);
    if (this.onChoose) mark(row.texts[0], 'aria-pressed', chosen);
    this.columns.forEach((c, i) => {
      say(row.texts[i], c.text(data));
      if (c.hide) mark(row.cells[i], 'hidden', c.hide() ? '' : null);
      if (c.kind) mark(row.cells[i], 'class', [c.number && 'number', c.wide && 'wide', c.kind(data)].filter(Boolean).join(' ') || null);
    });
  }

  #empty(is, text) {
    if (is && !this.none) {
      this.none = h('tr', {}, h('td', { colspan: this.columns.length, class: 'soft' }));
      this.body.append(this.none);
    }
    if (is) say(this.none.firstChild, text);
    else if (this.none) { this.none.remove(); this.none = null; }
  }
}

// A Spark is a small graph of the last values of something.
export class Spark {
  constructor(points = 60) {
    this.points = points;
    this.values = [];
    this.under = s('path', { class: 'under' });
    this.line = s('path');
    this.element = s('svg', { class: 'spark', viewBox: `0 0 ${points - 1} 20`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, this.under, this.line);
  }

  add(value) {
    this.values.push(value);
    if (this.values.length > this.points) this.values.shift();
    const most = Math.max(...this.values) || 1;
    const start = this.points - this.values.length;
    const path = this.values.map((v, i) => `${i ? 'L' : 'M'}${start + i} ${(19 - 17 * v / most).toFixed(2)}`).join('');
    this.line.setAttribute('d', path);
    this.under.setAttribute('d', `${path}L${this.points - 1} 20L${start} 20Z`);
  }
}

// facts is a list of names and values that is updated.
export class Facts {
  constructor() { this.element = h('dl', { class: 'facts' }); this.values = new Map(); }

  update(facts) {
    for (const [name, value] of facts) {
      if (!this.values.has(name)) {
        const dd = h('dd');
        this.values.set(name, dd);
        this.element.append(h('div', {}, h('dt', {}, name), dd));
      }
      const dd = this.values.get(name);
      if (value instanceof Node) { if (dd.firstChild !== value) dd.replaceChildren(value); } else say(dd, value);
    }
  }
}
