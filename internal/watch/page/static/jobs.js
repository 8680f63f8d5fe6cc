// The ranks of jobs, and who waits for whom.

import { h, s, say, mark, Table } from './dom.js';
import * as f from './format.js';

// circleMax is the largest job that is drawn as a circle of ranks; larger ones are a matrix.
const circleMax = 32;

export class Jobs {
  constructor() {
    this.element = h('div');
    this.jobs = new Map();
  }

  update(view) {
    const jobs = view.Jobs ?? [];
    const names = new Set(jobs.map((j) => j.Name));
    for (const [name, job] of this.jobs) if (!names.has(name)) { job.element.remove(); this.jobs.delete(name); }
    for (const j of jobs) {
      if (!this.jobs.has(j.Name)) {
        const job = new Job();
        this.jobs.set(j.Name, job);
        this.element.append(job.element);
      }
      this.jobs.get(j.Name).update(j);
    }
    if (!jobs.length) say(this.element, 'No process is a rank of a job.');
    else if (this.element.firstChild?.nodeType === Node.TEXT_NODE) this.element.firstChild.remove();
  }
}

// cycleText says who waits for whom in a circle.
export function cycleText(c) {
  if (!c.Path?.length) return `ranks ${c.Ranks} wait for a message of any rank, and none is left that could send one`;
  const shown = c.Path.slice(0, 6).map((rank, i) => `${rank} waits in ${c.Calls[i]} for ${c.Path[(i + 1) % c.Path.length]}`);
  return `rank ${shown.join(', ')}` + (c.Path.length > 6 ? `, and so on: ${c.Path.length} ranks` : '');
}

function state(r) {
  if (r.Cycle) return `likely deadlock ${r.Cycle}`;
  if (r.Stuck) return 'behind a deadlock';
  return r.Waits?.length ? 'waits' : 'runs';
}

const longest = (r) => Math.max(0, ...(r.Waits ?? []).map((w) => w.Seconds));
const join = (r, write) => (r.Waits ?? []).map(write).join(' · ');

class Job {
  constructor() {
    this.title = h('h2');
    this.facts = h('p', { class: 'soft' });
    this.cycles = h('ul');
    this.picture = h('div');
    this.more = h('p', { class: 'note' });
    this.table = new Table('Ranks and what they wait for', [
      { title: 'Rank', text: (r) => r.Rank },
      { title: 'State', text: state, kind: (r) => r.Cycle ? 'bad' : r.Waits?.length ? 'wait' : 'good' },
      { title: 'In', text: (r) => join(r, (w) => w.Call) || '–' },
      { title: 'Waits for', wide: true, text: (r) => join(r, (w) => w.For) || '–' },
      { title: 'Tag', number: true, text: (r) => join(r, (w) => w.Tag < 0 ? 'any' : String(w.Tag)) || '–' },
      { title: 'For', number: true, text: (r) => f.seconds(longest(r)) },
      { title: 'Host', text: (r) => r.Host },
      { title: 'Process', number: true, text: (r) => r.PID },
    ]);
    this.element = h('div', {}, this.title, this.facts, this.cycles,
      h('div', { class: 'job' }, this.picture, h('div', {}, this.table.element, this.more)));
  }

  update(j) {
    say(this.title, `Job ${j.Name || '(no name)'}`);
    say(this.facts, `${f.count(j.Size)} ranks, ${f.count(j.Waiting)} wait` + (j.Stuck ? `, ${f.count(j.Stuck)} probably for ever` : '')
      + (j.Missing ? `; no answer from ${j.Missing}` : ''));
    const cycles = j.Cycles ?? [];
    while (this.cycles.children.length > cycles.length) this.cycles.lastChild.remove();
    while (this.cycles.children.length < cycles.length) this.cycles.append(h('li', { class: 'bad' }));
    cycles.forEach((c, i) => say(this.cycles.children[i], `Likely deadlock ${i + 1}: ${cycleText(c)}.`));
    const ranks = j.Ranks ?? [];
    this.table.update(ranks);
    say(this.more, j.Left ? `${f.count(j.Left)} more ranks, which have waited shorter, are not in the list.` : '');
    this.#draw(j, ranks);
  }

  #draw(j, ranks) {
    const key = JSON.stringify([j.Size, j.Edges, ranks.map((r) => [r.Rank, r.Cycle, !!r.Waits?.length])]);
    if (this.key === key) return;
    this.key = key;
    const what = `Who waits for whom: ${(j.Edges ?? []).length} waits, as in the table`;
    if (j.Size <= circleMax) {
      this.picture.replaceChildren(circle(j, ranks, what));
      return;
    }
    if (!this.canvas) this.canvas = h('canvas', { class: 'graph', role: 'img' });
    mark(this.canvas, 'aria-label', what);
    this.picture.replaceChildren(this.canvas, h('p', { class: 'note' }, 'A row for each rank that waits, a column for each that is waited for.'));
    matrix(this.canvas, j, ranks);
  }
}

// circle draws ranks on a circle, and an arrow for each wait.
function circle(j, ranks, what) {
  const at = (rank) => {
    const angle = 2 * Math.PI * rank / j.Size - Math.PI / 2;
    return [150 + 120 * Math.cos(angle), 150 + 120 * Math.sin(angle)];
  };
  const of = new Map(ranks.map((r) => [r.Rank, r]));
  const svg = s('svg', { class: 'graph', viewBox: '0 0 300 300', role: 'img', 'aria-label': what });
  for (const [from, to] of j.Edges ?? []) {
    if (from === to) continue;
    const bad = of.get(from)?.Cycle && of.get(from).Cycle === of.get(to)?.Cycle ? 'bad' : null;
    const [x1, y1] = at(from), [x2, y2] = at(to), length = Math.hypot(x2 - x1, y2 - y1);
    const dx = (x2 - x1) / length, dy = (y2 - y1) / length;
    const tx = x2 - 14 * dx, ty = y2 - 14 * dy;
    svg.append(s('line', { x1: x1 + 13 * dx, y1: y1 + 13 * dy, x2: tx - 5 * dx, y2: ty - 5 * dy, class: bad }));
    svg.append(s('polygon', { points: `${tx},${ty} ${tx - 8 * dx - 4 * dy},${ty - 8 * dy + 4 * dx} ${tx - 8 * dx + 4 * dy},${ty - 8 * dy - 4 * dx}`, class: bad }));
  }
  for (let rank = 0; rank < j.Size; rank++) {
    const [x, y] = at(rank), r = of.get(rank);
    const kind = !r ? 'gone' : r.Cycle ? 'stuck' : r.Waits?.length ? 'waits' : 'runs';
    svg.append(s('g', { class: kind }, s('circle', { cx: x, cy: y, r: 12 }), s('text', { x, y }, String(rank))));
  }
  return svg;
}

// matrix draws a point for each wait. Large jobs have several ranks in a point.
function matrix(canvas, j, ranks) {
  const side = Math.min(j.Size, 512);
  canvas.width = canvas.height = side;
  const context = canvas.getContext('2d');
  const style = getComputedStyle(canvas);
  const stuck = new Set(ranks.filter((r) => r.Cycle).map((r) => r.Rank));
  context.clearRect(0, 0, side, side);
  for (const bad of [false, true]) {
    context.fillStyle = style.getPropertyValue(bad ? '--stuck' : '--waits') || style.color;
    for (const [from, to] of j.Edges ?? []) {
      if ((stuck.has(from) && stuck.has(to)) === bad) context.fillRect(Math.floor(to * side / j.Size), Math.floor(from * side / j.Size), 1, 1);
    }
  }
}
