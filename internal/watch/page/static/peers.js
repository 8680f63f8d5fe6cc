// The table of peers: filtered, sorted and cut into pages by the server.

import { h, say, mark, Table, Facts, Spark } from './dom.js';
import * as f from './format.js';

const kinds = { READY: 'good', WAIT: 'wait', DISCONNECT: 'bad' };

export class Peers {
  constructor(state, change) {
    this.state = state;
    this.change = change;
    this.filter = h('input', { id: 'filter', type: 'search', placeholder: 'state=READY round-trip>5ms node1', maxlength: 200,
      'aria-label': 'Filter: words of an address, or conditions such as queued>0 or round-trip>5ms', oninput: () => this.#filterSoon() });
    this.problem = h('span', { class: 'error', role: 'status' });
    this.chips = h('span', { class: 'bar', role: 'group', 'aria-label': 'Filter by state' });
    this.where = h('span', { class: 'soft', role: 'status' });
    this.back = h('button', { type: 'button', onclick: () => this.#page(-1) }, 'Previous');
    this.next = h('button', { type: 'button', onclick: () => this.#page(1) }, 'Next');
    this.table = new Table('Peers', this.#columns(), { onSort: (c) => this.#sort(c), onChoose: (p) => this.#choose(p) });
    this.details = h('div');
    this.element = h('div', {},
      h('div', { class: 'bar' }, this.filter, this.chips, this.problem, h('span', { class: 'grow' }), this.where, this.back, this.next),
      this.details, this.table.element);
    this.total = 0;
  }

  #columns() {
    return [
      { title: 'Peer', sort: 'address', text: (p) => p.Address || '(no address)' },
      { title: 'Method', sort: 'method', text: (p) => p.Method },
      { title: 'State', sort: 'state', text: (p) => p.State || '–', kind: (p) => kinds[p.State] },
      { title: 'Credits', sort: 'credits', number: true, text: (p) => f.count(p.Credits) },
      { title: 'Window', sort: 'window', number: true, text: (p) => f.count(p.Window) },
      { title: 'Queued', sort: 'queued', number: true, text: (p) => f.count(p.QueuedSends), kind: (p) => p.QueuedSends > 0 && 'wait' },
      { title: 'Sent', sort: 'send-rate', number: true, text: (p) => f.byteRate(p.Rates.BytesSent) },
      { title: 'Received', sort: 'receive-rate', number: true, text: (p) => f.byteRate(p.Rates.BytesReceived) },
      { title: 'Messages', sort: 'message-rate', number: true, text: (p) => f.perSecond(p.Rates.MessagesSent + p.Rates.MessagesReceived) },
      { title: 'Retransmitted', sort: 'retransmissions', number: true, text: (p) => f.count(p.Retransmissions), kind: (p) => p.Rates.Retransmissions > 0 && 'wait' },
      { title: 'Lost', sort: 'lost', number: true, text: (p) => f.count(p.Lost) },
      { title: 'Round trip', sort: 'round-trip', number: true, text: (p) => f.seconds(p.RoundTrip / 1e9) },
      { title: 'Rails', sort: 'rails', number: true, text: (p) => p.Rails?.length ?? 0 },
      { title: 'Of', hide: () => (this.processes?.length ?? 0) < 2, text: (p) => this.processes?.[p.Process]?.label ?? '' },
    ];
  }

  #filterSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.timer = 0; this.change({ filter: this.filter.value, offset: 0 }); }, 250);
  }

  #sort(c) {
    const same = c.sort === this.state.sort;
    this.change({ sort: c.sort, order: same ? (this.state.order === 'ascending' ? 'descending' : 'ascending') : (c.number ? 'descending' : 'ascending'), offset: 0 });
  }

  #page(by) { this.change({ offset: Math.max(0, this.state.offset + by * this.state.limit) }); }

  #choose(p) {
    const id = `${p.Method} ${p.Address}`;
    this.change({ peer: this.state.peer === id ? '' : id });
  }

  // complain shows what is wrong with the filter, or nothing.
  complain(text) { say(this.problem, text); mark(this.filter, 'aria-invalid', text ? 'true' : null); }

  update(view) {
    const { Peers: peers } = view;
    this.processes = view.Processes;
    this.taken = view.Taken;
    if (!this.timer && document.activeElement !== this.filter && this.filter.value !== this.state.filter) this.filter.value = this.state.filter;
    const rows = peers.Rows ?? [];
    const from = peers.Offset + 1;
    say(this.where, rows.length ? `${f.count(from)}–${f.count(peers.Offset + rows.length)} of ${f.count(peers.Matched)}` + (peers.Matched < peers.Known ? ` (${f.count(peers.Known)} in all)` : '') : `0 of ${f.count(peers.Known)}`);
    this.back.disabled = peers.Offset === 0;
    this.next.disabled = peers.Offset + rows.length >= peers.Matched;
    this.#showStates(peers.States ?? {});
    const chosen = (p) => this.state.peer === `${p.Method} ${p.Address}`;
    this.table.update(rows, { sort: this.state.sort, ascending: this.state.order === 'ascending', chosen, empty: peers.Known ? 'The filter lets no peer through.' : 'No process has a peer.' });
    this.#showDetails(rows.find(chosen));
  }

  #showStates(states) {
    const names = Object.keys(states).sort();
    if (this.names !== names.join('\n')) {
      this.names = names.join('\n');
      this.chips.replaceChildren(...names.map((name) => h('button', { type: 'button', class: 'chip', onclick: () => {
        const word = `state=${name}`;
        this.change({ filter: this.state.filter === word ? '' : word, offset: 0 });
      } })));
    }
    names.forEach((name, i) => {
      say(this.chips.children[i], `${name || 'no state'} ${f.count(states[name])}`);
      mark(this.chips.children[i], 'aria-pressed', this.state.filter === `state=${name}`);
    });
  }

  #showDetails(p) {
    if (this.shown !== this.state.peer) {
      this.shown = this.state.peer;
      this.facts = this.rails = null;
      this.details.replaceChildren();
    }
    if (!this.state.peer || !p) {
      if (this.state.peer && !this.facts) say(this.details, '');
      return;
    }
    if (!this.facts) {
      this.facts = new Facts();
      this.speed = new Spark();
      this.rails = new Table('Rails', [
        { title: 'Rail', text: (r) => r.Name }, { title: 'State', text: (r) => r.State },
        { title: 'Sent', number: true, text: (r) => f.bytes(r.BytesSent) }, { title: 'Received', number: true, text: (r) => f.bytes(r.BytesReceived) },
      ]);
      this.title = h('h2');
      this.details.replaceChildren(h('div', { class: 'card', id: 'details' }, this.title, this.speed.element, this.facts.element, this.rails.element));
    }
    say(this.title, p.Address);
    this.speed.add(p.Rates.BytesSent + p.Rates.BytesReceived);
    const since = p.Since ? (Date.parse(this.taken) - Date.parse(p.Since)) / 1000 : 0;
    this.facts.update([
      ['Method', p.Method], ['State', p.State], ['In this state for', f.seconds(since)], ['Credits', f.count(p.Credits)], ['Window', f.count(p.Window)],
      ['Queued sends', `${f.count(p.QueuedSends)}, ${f.bytes(p.QueuedBytes)}`], ['Round trip', f.seconds(p.RoundTrip / 1e9)],
      ['Retransmissions', `${f.count(p.Retransmissions)}, ${f.perSecond(p.Rates.Retransmissions)}`], ['Lost', f.count(p.Lost)],
      ['Bytes sent', f.bytes(p.BytesSent)], ['Bytes received', f.bytes(p.BytesReceived)],
      ['Messages sent', f.count(p.MessagesSent)], ['Messages received', f.count(p.MessagesReceived)],
    ]);
    this.rails.element.hidden = !p.Rails?.length;
    this.rails.update(p.Rails ?? []);
  }
}
