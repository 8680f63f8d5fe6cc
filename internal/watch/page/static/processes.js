// All processes, and those that do not answer.

import { h, Table } from './dom.js';
import * as f from './format.js';

export class Processes {
  constructor() {
    this.table = new Table('Processes', [
      { title: 'Process', text: (p) => p.label },
      { title: 'Where', text: (p) => p.Target ?? '' },
      { title: 'State', wide: true, text: (p) => p.Error || 'answers', kind: (p) => p.Error ? 'bad' : 'good' },
      { title: 'Running for', number: true, text: (p) => f.seconds(p.Running) },
      { title: 'Peers', number: true, text: (p) => f.count(p.Peers) },
      { title: 'Unexpected', number: true, text: (p) => p.UnexpectedMessages ? `${f.count(p.UnexpectedMessages)}, ${f.bytes(p.UnexpectedBytes)}` : '0', kind: (p) => p.UnexpectedMessages > 0 && 'wait' },
      { title: 'Queued', number: true, text: (p) => f.count(p.QueuedSends) },
      { title: 'Sent', number: true, text: (p) => f.byteRate(p.Rates.BytesSent) },
      { title: 'Received', number: true, text: (p) => f.byteRate(p.Rates.BytesReceived) },
      { title: 'Retransmitted', number: true, text: (p) => f.count(p.Retransmissions) },
      { title: 'Methods', wide: true, text: (p) => (p.Methods ?? []).map((m) => m.Name).join(', ') },
      { title: 'Version', text: (p) => p.Version },
    ]);
    this.element = h('div', {}, h('h2', {}, 'Processes'), this.table.element);
  }

  update(view) { this.table.update(view.Processes ?? []); }
}
