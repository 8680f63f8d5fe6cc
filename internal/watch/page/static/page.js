// The page: what is shown is in the URL's hash, so that a reload shows the same. A view is fetched once a second, unless nobody
// looks.

import { h, say, mark, Spark } from './dom.js';
import * as f from './format.js';
import { Peers } from './peers.js';
import { Servers } from './servers.js';
import { Jobs, cycleText } from './jobs.js';
import { Processes } from './processes.js';

const every = 1000, patience = 5000;
const defaults = { tab: '', sort: 'rate', order: 'descending', filter: '', offset: 0, limit: 100, peer: '', server: '' };
const state = { ...defaults };
const $ = (id) => document.getElementById(id);

function readHash() {
  const hash = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(defaults)) {
    const text = hash.get(name);
    state[name] = text === null ? value : typeof value === 'number' ? Math.max(0, Number.parseInt(text, 10) || value) : text;
  }
}

function change(some) {
  Object.assign(state, some);
  const hash = new URLSearchParams(Object.entries(state).filter(([name, value]) => value !== defaults[name]));
  history.replaceState(null, '', `#${hash}`);
  refresh();
}

const tabs = {
  peers: { title: 'Peers', part: new Peers(state, change), count: (v) => v.Peers.Known },
  servers: { title: 'Servers', part: new Servers(state, change), count: (v) => v.Servers?.length ?? 0 },
  jobs: { title: 'Jobs', part: new Jobs(), count: (v) => v.Jobs?.length ?? 0 },
  processes: { title: 'Processes', part: new Processes(), count: (v) => v.Processes?.length ?? 0 },
};

for (const [name, tab] of Object.entries(tabs)) {
  tab.link = h('a', { href: `#tab=${name}`, onclick: (e) => { e.preventDefault(); change({ tab: name }); } });
  $('tabs').append(h('li', {}, tab.link));
}

const tiles = [
  { name: 'Processes', value: (v) => f.count(v.Processes.length), more: (v) => { const lost = v.Processes.filter((p) => p.Error).length; return lost ? `${lost} do not answer` : ''; } },
  { name: 'Peers', value: (v) => f.count(v.Peers.Known), more: (v) => Object.entries(v.Peers.States ?? {}).slice(0, 5).map(([name, n]) => `${name} ${f.count(n)}`).join(', ') },
  { name: 'Sent', value: (v) => f.byteRate(sum(v, (p) => p.Rates.BytesSent)), spark: (v) => sum(v, (p) => p.Rates.BytesSent) },
  { name: 'Received', value: (v) => f.byteRate(sum(v, (p) => p.Rates.BytesReceived)), spark: (v) => sum(v, (p) => p.Rates.BytesReceived) },
  { name: 'Messages', value: (v) => f.perSecond(sum(v, (p) => p.Rates.MessagesSent + p.Rates.MessagesReceived)), spark: (v) => sum(v, (p) => p.Rates.MessagesSent + p.Rates.MessagesReceived) },
  { name: 'Retransmissions', value: (v) => f.perSecond(v.Peers.Sum.Rates.Retransmissions), spark: (v) => v.Peers.Sum.Rates.Retransmissions },
  { name: 'Queued sends', value: (v) => f.count(v.Peers.Sum.QueuedSends), more: (v) => f.bytes(v.Peers.Sum.QueuedBytes) },
  { name: 'Unexpected', value: (v) => f.count(sum(v, (p) => p.UnexpectedMessages)), more: (v) => f.bytes(sum(v, (p) => p.UnexpectedBytes)) },
];
const sum = (v, of) => v.Processes.reduce((n, p) => n + of(p), 0);

for (const t of tiles) {
  t.valueElement = h('span', { class: 'value' });
  t.moreElement = t.spark ? (t.graph = new Spark()).element : h('span', { class: 'more' });
  $('tiles').append(h('div', { class: 'tile' }, h('span', { class: 'name' }, t.name), t.valueElement, t.moreElement));
}

// prepare fills what the parts rely on.
function prepare(v) {
  v.Processes ??= [];
  for (const p of v.Processes) {
    p.label = p.Error || !p.Program ? p.Target || '(unknown)' : `${p.Program} ${p.PID} on ${p.Host}`;
  }
  return v;
}

// tabOf is the tab that is shown: the one chosen, or one that has something to show.
function tabOf(v) {
  if (tabs[state.tab]) return state.tab;
  return ['servers', 'jobs', 'peers'].find((name) => tabs[name].count(v)) ?? 'processes';
}

let updates = 0;

function show(v, fresh) {
  const current = tabOf(v);
  for (const [name, tab] of Object.entries(tabs)) {
    say(tab.link, `${tab.title} ${f.count(tab.count(v))}`);
    mark(tab.link, 'aria-current', name === current ? 'page' : null);
  }
  const part = tabs[current].part;
  if ($('content').firstChild !== part.element) $('content').replaceChildren(part.element);
  part.update(v);
  for (const t of tiles) {
    say(t.valueElement, t.value(v));
    if (t.more) say(t.moreElement, t.more(v));
    if (t.spark && fresh) t.graph.add(t.spark(v));
  }
  const only = v.Processes.length === 1 ? v.Processes[0] : null;
  say($('what'), only ? only.label : `${f.count(v.Processes.length)} processes`);
  const servers = (v.Servers ?? []).map((s) => s.Alias);
  document.title = [servers.length === 1 ? servers[0] : only?.Program, 'Viaduct'].filter(Boolean).join(' – ');
  showAlerts((v.Jobs ?? []).flatMap((j) => (j.Cycles ?? []).map((c) => `job ${j.Name}: ${cycleText(c)}`)));
  say($('notes'), (v.Notes ?? []).join(' · '));
  $('notes').className = 'note';
  if (fresh) document.documentElement.dataset.updates = ++updates;
}

function showAlerts(texts) {
  const key = texts.join('\n');
  if (showAlerts.key === key) return;
  showAlerts.key = key;
  $('alerts').replaceChildren(...texts.slice(0, 3).map((text) => h('p', { class: 'alarm' }, h('b', {}, 'Likely deadlock'), ` in ${text}.`)));
}

let timer = 0, running = null, paused = false;

function status(light, text) {
  mark($('light'), 'class', light);
  say($('status'), text);
  $('main').classList.toggle('old', light === 'lost');
}

// refresh fetches a view now, and another one a second later.
async function refresh() {
  clearTimeout(timer);
  running?.abort();
  const mine = running = new AbortController();
  const limit = setTimeout(() => mine.abort(new Error('no answer')), patience);
  const began = performance.now();
  try {
    const { sort, order, filter, offset, limit: rows } = state;
    const answer = await fetch(`view?${new URLSearchParams({ sort, order, filter, offset, limit: rows })}`, { signal: mine.signal, cache: 'no-store' });
    if (!answer.ok) {
      const text = (await answer.text()).trim();
      if (answer.status !== 400 && answer.status !== 422) throw new Error(text);
      tabs.peers.part.complain(text);
    } else {
      const v = prepare(await answer.json());
      if (mine !== running) return;
      tabs.peers.part.complain('');
      show(v, true);
      status(paused ? null : 'live', paused ? 'paused' : `live, ${new Date(v.Taken).toLocaleTimeString('en-GB')}`);
    }
  } catch (e) {
    if (mine !== running) return;
    status('lost', `nobody answers (${e.message}); trying again`);
  } finally {
    clearTimeout(limit);
    if (mine === running && !paused && !document.hidden) timer = setTimeout(refresh, Math.max(every - (performance.now() - began), 50));
  }
}

$('pause').addEventListener('click', () => {
  paused = !paused;
  mark($('pause'), 'aria-pressed', paused);
  say($('pause'), paused ? 'Go on' : 'Pause');
  if (paused) { clearTimeout(timer); status(null, 'paused'); } else refresh();
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) { clearTimeout(timer); running?.abort(); running = null; } else if (!paused) refresh();
});
$('skip').addEventListener('click', (e) => { e.preventDefault(); $('main').focus(); });
addEventListener('hashchange', () => { readHash(); refresh(); });
readHash();
refresh();
