// Formats times and durations for people.

/** Formats a duration as `850 µs`, `12.3 ms`, `1.25 s`, `2m 05s`, `3h 10m` or `2d 03h`. */
export function formatMs(ms: number): string {
  if (ms < 0.9995) return `${Math.round(ms * 1000)} µs`;
  if (ms < 999.5) return `${ms < 99.95 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}d ${two(hours % 24)}h`;
}

export function formatUs(us: number): string {
  return formatMs(us / 1000);
}

/** Formats an RFC 3339 time in UTC as `2026-11-21 08:00:00.123`; null becomes the empty text. */
export function formatAt(at: string | null): string {
  return at === null
    ? ''
    : at
        .replace('T', ' ')
        .replace(/(\.\d{3})\d*/, '$1')
        .replace(/Z$/, '');
}

/** Converts an RFC 3339 time with any number of fractional digits to milliseconds since 1970; `Date` reads only three digits. */
export function msOf(at: string): number {
  const digits = /\.(\d+)/.exec(at)?.[1] ?? '0';
  return Date.parse(at.replace(/\.\d+/, '')) + Number(`0.${digits}`) * 1000;
}

/** The milliseconds from one RFC 3339 time to another, at least 0; null if one of the times is null. */
export function spanMs(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Math.max(0, msOf(to) - msOf(from));
}

function two(count: number): string {
  return String(count).padStart(2, '0');
}
