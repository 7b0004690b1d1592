// Numbers, durations and times, as the dashboard shows them.
import { signal } from '@preact/signals';

/** The present time in ms since the epoch, updated once a second. */
export const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 1_000);

/** Separates groups of digits, and numbers from their units, without a line break between them. */
const thin = '\u202f';

/** A count with separated groups: `12 345`. */
export function count(n: number): string {
  const [whole = '', part] = String(n).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, thin);
  return part === undefined ? grouped : `${grouped}.${part}`;
}

/** A count in at most four characters and a unit: `950`, `12.3 k`, `4.57 M`. */
export function short(n: number): string {
  if (n < 1_000) return digits(n);
  const [value, unit] = n < 999_500 ? [n / 1e3, 'k'] : n < 999_500_000 ? [n / 1e6, 'M'] : [n / 1e9, 'G'];
  return `${digits(value)}${thin}${unit}`;
}

/** Three significant digits, without zeros at the end. */
function digits(n: number): string {
  return String(Number(n >= 100 ? n.toFixed(0) : n.toPrecision(3)));
}

/** A duration in µs: `840 µs`, `12.3 ms`, `4.57 s`, `3 min 12 s`, `5 h 2 min`, `3 d 4 h`. */
export function duration(us: number): string {
  const of = Math.abs(us);
  const sign = us < 0 ? '−' : '';
  if (of < 1_000) return `${sign}${Math.round(of)}${thin}µs`;
  if (of < 999_500) return `${sign}${digits(of / 1_000)}${thin}ms`;
  if (of < 59_950_000) return `${sign}${digits(of / 1e6)}${thin}s`;
  const seconds = Math.round(of / 1e6);
  if (seconds < 3_600) return sign + two(seconds, 60, 'min', 's');
  if (seconds < 86_400) return sign + two(Math.round(seconds / 60), 60, 'h', 'min');
  return sign + two(Math.round(seconds / 3_600), 24, 'd', 'h');
}

function two(n: number, by: number, large: string, small: string): string {
  const [whole, rest] = [Math.floor(n / by), n % by];
  return `${whole}${thin}${large}${rest === 0 ? '' : ` ${rest}${thin}${small}`}`;
}

/** A duration in ms. */
export function ms(n: number): string {
  return duration(n * 1_000);
}

/** How long ago, or in how long: `now`, `12 s ago`, `in 3 min`. */
export function ago(date: Date, nowMs: number): string {
  const difference = nowMs - date.getTime();
  const size = Math.abs(difference);
  if (size < 1_000) return 'now';
  const text = coarse(Math.floor(size / 1_000));
  return difference > 0 ? `${text} ago` : `in ${text}`;
}

function coarse(seconds: number): string {
  if (seconds < 60) return `${seconds}${thin}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}${thin}min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}${thin}h`;
  return `${Math.floor(seconds / 86_400)}${thin}d`;
}

const pad = (n: number, width = 2) => String(n).padStart(width, '0');

/** The exact time with the offset of the browser's time zone: `2026-11-24 02:05:09.123 +01:00`. */
export function exact(date: Date): string {
  const offset = -date.getTimezoneOffset();
  const zone = `${offset < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`;
  return `${day(date)} ${clock(date)}.${pad(date.getMilliseconds(), 3)} ${zone}`;
}

/** `2026-11-24` */
export function day(date: Date): string {
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

/** `02:05:09` */
export function clock(date: Date): string {
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

export function bytes(n: number): string {
  if (n < 1_024) return `${n}${thin}B`;
  const [value, unit] =
    n < 1_024 ** 2 ? [n / 1_024, 'KiB'] : n < 1_024 ** 3 ? [n / 1_024 ** 2, 'MiB'] : [n / 1_024 ** 3, 'GiB'];
  return `${digits(value)}${thin}${unit}`;
}

/** How often a second, or a minute: `12.3 /s`. */
export function rate(perSecond: number): string {
  return perSecond > 0 && perSecond < 1 ? `${short(perSecond * 60)}${thin}/min` : `${short(perSecond)}${thin}/s`;
}

/** A share of 1 as a percentage: `0.4 %`. */
export function percent(x: number): string {
  const value = x * 100;
  return `${value >= 99.5 ? value.toFixed(0) : Number(value.toPrecision(2))}${thin}%`;
}

const jobIdShape = /^[0-9a-f]{8}-([0-9a-f]{4})-[0-9a-f]{4}-([0-9a-f]{4})-[0-9a-f]{4}([0-9a-f]{8})$/;

/**
 * A short form of an id. Of a job's id, it has the parts in which jobs differ: the lower digits of the time, some of the random digits, and the
 * job's index in its block, unless that is 0. Of any other long id, it has the beginning and the end.
 */
export function shortId(id: string): string {
  const [, time, random, place = ''] = jobIdShape.exec(id) ?? [];
  if (time === undefined) return id.length <= 12 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`;
  const index = Number.parseInt(place, 16);
  return `${time}${random}${index === 0 ? '' : `·${index.toString(16)}`}`;
}

/** `1 job`, `2 jobs`. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
