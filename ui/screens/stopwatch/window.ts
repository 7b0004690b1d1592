// The windows of time that the stopwatch shows: one that ends now, or one that the user chose, and the other window of a comparison.

export type TimeWindow = { readonly fromMs: number; readonly toMs: number };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The windows that end now, by their names in the URL. */
export const ranges = [
  { name: '15m', text: 'the last 15 minutes', ms: 15 * minuteMs },
  { name: '1h', text: 'the last hour', ms: hourMs },
  { name: '6h', text: 'the last 6 hours', ms: 6 * hourMs },
  { name: '24h', text: 'the last 24 hours', ms: dayMs },
  { name: '7d', text: 'the last 7 days', ms: 7 * dayMs },
] as const;
const rangeDefault = ranges[1];

/** With what a window can be compared. */
export const comparisons = [
  { name: 'before', text: 'the time before' },
  { name: 'day', text: 'a day earlier' },
  { name: 'week', text: 'a week earlier' },
  { name: 'own', text: 'other times' },
] as const;

/** The window that the parameters `from` and `to`, or `range`, of the URL name. It consists of whole minutes, in which the service counts. */
export function windowOf(query: URLSearchParams, nowMs: number): TimeWindow {
  const own = timesIn(query, 'from', 'to');
  if (own !== null) return own;
  const { ms } = ranges.find(({ name }) => name === query.get('range')) ?? rangeDefault;
  const toMs = Math.ceil(nowMs / minuteMs) * minuteMs;
  return { fromMs: toMs - ms, toMs };
}

/** The name of the range that ends now; `own`: the URL names times. */
export function rangeName(query: URLSearchParams): string {
  if (query.has('from') && query.has('to')) return 'own';
  return (ranges.find(({ name }) => name === query.get('range')) ?? rangeDefault).name;
}

function timesIn(query: URLSearchParams, from: string, to: string): TimeWindow | null {
  const [fromMs, toMs] = [Date.parse(query.get(from) ?? ''), Date.parse(query.get(to) ?? '')];
  if (!(toMs > fromMs)) return null;
  return { fromMs: Math.floor(fromMs / minuteMs) * minuteMs, toMs: Math.ceil(toMs / minuteMs) * minuteMs };
}

/**
 * The other window of a comparison, which the parameter `against` names, with `against_from` and `against_to` for times of the user; null: none is
 * chosen.
 */
export function comparedWindow({ fromMs, toMs }: TimeWindow, query: URLSearchParams): TimeWindow | null {
  const against = query.get('against');
  if (against === 'own') return timesIn(query, 'against_from', 'against_to');
  const shiftMs = against === 'before' ? toMs - fromMs : against === 'day' ? dayMs : against === 'week' ? 7 * dayMs : 0;
  return shiftMs === 0 ? null : { fromMs: fromMs - shiftMs, toMs: toMs - shiftMs };
}

/** A time to the minute, in the time zone of the browser. In windows of more than one day, it has its day, too. */
export function minuteText(ms: number, windowMs: number): string {
  const date = new Date(ms);
  const two = (n: number) => String(n).padStart(2, '0');
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return windowMs > dayMs ? `${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}` : time;
}
