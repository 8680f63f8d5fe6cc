// File servers: a line for each, and one of them in full.

import { h, say, Table, Facts, Spark } from './dom.js';
import * as f from './format.js';

function progress(p) {
  if (!p) return '–';
  if (!p.Running) return p.Found ? `done: ${f.count(p.Repaired)} of ${f.count(p.Found)} repaired` : 'done';
  return f.percent(p.Done, p.Total);
}

function worst(server) {
  let most = { Seconds: 0 };
  for (const k of server.Kinds ?? []) if (k.Rate > 0 && k.P99.Seconds > most.Seconds) most = k.P99;
  return most;
}

export class Servers {
  constructor(state, change) {
    this.state = state;
    this.change = change;
    this.histories = new Map();
    this.table = new Table('File servers', [
      { title: 'Server', text: (s) => s.Alias || '(no name)' },
      { title: 'File system', text: (s) => s.FileSystem },
      { title: 'Requests', number: true, text: (s) => f.perSecond(s.Rate) },
      { title: 'Failed', number: true, text: (s) => f.perSecond(s.FailRate), kind: (s) => s.FailRate > 0 && 'wait' },
      { title: 'Active', number: true, text: (s) => f.count(s.Active) },
      { title: '99 % within', number: true, text: (s) => f.quantile(worst(s)) },
      { title: 'Read', number: true, text: (s) => f.byteRate(s.ReadRate) },
      { title: 'Written', number: true, text: (s) => f.byteRate(s.WriteRate) },
      { title: 'Space used', number: true, text: (s) => f.percent(s.SpaceTotal - s.SpaceFree, s.SpaceTotal) },
      { title: 'Heal', text: (s) => progress(s.Heal) },
      { title: 'Scrub', text: (s) => progress(s.Scrub) },
      { title: 'Refused', number: true, text: (s) => `${f.count(s.RefusedTotal)}`, kind: (s) => s.RefusedRate > 0 && 'wait' },
    ], { onChoose: (s) => this.change({ server: s.Alias }) });
    this.title = h('h2');
    this.spark = h('div');
    this.facts = new Facts();
    this.space = h('meter', { min: 0, max: 1, high: 0.9, 'aria-label': 'space used' });
    this.heal = h('progress', { max: 1, 'aria-label': 'heal' });
    this.scrub = h('progress', { max: 1, 'aria-label': 'scrub' });
    this.kinds = new Table('Requests by kind', [
      { title: 'Request', text: (k) => k.Name },
      { title: 'Rate', number: true, text: (k) => f.perSecond(k.Rate) },
      { title: 'Active', number: true, text: (k) => f.count(k.Active) },
      { title: '50 %', number: true, text: (k) => f.quantile(k.P50) },
      { title: '90 %', number: true, text: (k) => f.quantile(k.P90) },
      { title: '99 %', number: true, text: (k) => f.quantile(k.P99) },
      { title: 'Mean', number: true, text: (k) => f.seconds(k.Mean) },
      { title: 'All', number: true, text: (k) => f.count(k.Count) },
      { title: 'Failed', number: true, text: (k) => f.count(k.Failed), kind: (k) => k.FailRate > 0 && 'wait' },
    ]);
    this.refused = new Table('Refusals by reason', [
      { title: 'Refused because of', text: (r) => r.Reason },
      { title: 'Rate', number: true, text: (r) => f.perSecond(r.Rate) },
      { title: 'All', number: true, text: (r) => f.count(r.Count) },
    ]);
    this.one = h('div', { class: 'card' }, this.title, this.spark, this.facts.element,
      h('h3', {}, 'Requests and how long they take'), this.kinds.element, h('h3', {}, 'Refusals'), this.refused.element);
    this.element = h('div', {}, h('h2', {}, 'File servers'), this.table.element, this.one);
  }

  update(view) {
    const servers = view.Servers ?? [];
    for (const s of servers) {
      const key = `${s.FileSystem}/${s.Alias}`;
      if (!this.histories.has(key)) this.histories.set(key, new Spark());
      this.histories.get(key).add(s.Rate);
    }
    const chosen = servers.find((s) => s.Alias === this.state.server) ?? servers[0];
    this.table.update(servers, { chosen: (s) => s === chosen });
    this.one.hidden = !chosen;
    if (chosen) this.#show(chosen);
  }

  #show(s) {
    say(this.title, `${s.Alias} of ${s.FileSystem}`);
    const spark = this.histories.get(`${s.FileSystem}/${s.Alias}`).element;
    if (this.spark.firstChild !== spark) this.spark.replaceChildren(spark);
    this.space.value = s.SpaceTotal ? (s.SpaceTotal - s.SpaceFree) / s.SpaceTotal : 0;
    this.facts.update([
      ['Requests', f.perSecond(s.Rate)], ['Active', f.count(s.Active)], ['Read', f.byteRate(s.ReadRate)], ['Written', f.byteRate(s.WriteRate)],
      ['Read in all', f.bytes(s.BytesRead)], ['Written in all', f.bytes(s.BytesWritten)],
      ['Space', `${f.bytes(s.SpaceFree)} free of ${f.bytes(s.SpaceTotal)}`], ['Used', this.space],
      ...this.#work('Heal', this.heal, s.Heal), ...this.#work('Scrub', this.scrub, s.Scrub),
    ]);
    this.kinds.update(s.Kinds ?? [], { empty: 'No request yet.' });
    this.refused.update(s.Refused ?? [], { empty: 'Nothing was refused.' });
  }

  // work are the facts of a heal or a scrub.
  #work(name, bar, p) {
    if (p?.Total) bar.value = Math.min(p.Done / p.Total, 1); else bar.removeAttribute('value');
    const amount = (n) => p.Unit === 'bytes' ? f.bytes(n) : `${f.count(n)} ${p.Unit}`;
    const state = !p ? 'none' : p.Running ? `${amount(p.Done)} of ${p.Total ? amount(p.Total) : 'unknown'}` + (p.Left ? `, ${f.seconds(p.Left)} left` : '') : 'done';
    return [[name, state], [`${name}: progress`, p?.Running ? bar : '–'], [`${name}: damage`, p ? `${f.count(p.Found)} found, ${f.count(p.Repaired)} repaired` : '–']];
  }
}
