// Numbers as text. Everything else on the page shows text of these functions, or of processes.

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

export function bytes(n) {
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return `${i === 0 ? few(n) : digits(n)} ${units[i]}`;
}

export const byteRate = (n) => `${bytes(n)}/s`;

// digits writes three digits or so.
const digits = (n) => n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
const few = (n) => Number.isInteger(n) || n >= 100 ? Math.round(n).toLocaleString('en') : n.toFixed(1);

export const count = (n) => Math.round(n).toLocaleString('en');
export const perSecond = (n) => `${n === 0 ? '0' : few(n)}/s`;
export const zeroless = (n, write = count) => n ? write(n) : '0';

// seconds writes a duration, short or long.
export function seconds(s) {
  if (s <= 0) return '–';
  if (s < 0.9995e-6) return `${(s * 1e9).toFixed(0)} ns`;
  if (s < 0.9995e-3) return `${digits(s * 1e6)} µs`;
  if (s < 0.9995) return `${digits(s * 1e3)} ms`;
  if (s < 120) return `${digits(s)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

export const quantile = (q) => (q.Over ? '> ' : '') + seconds(q.Seconds);
export const percent = (part, whole) => whole > 0 ? `${(100 * part / whole).toFixed(0)} %` : '–';
