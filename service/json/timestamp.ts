// Writes and reads the times of the API, in the format of RFC 3339. Written times are in UTC and have microseconds.

let lastSecond = Number.NaN;
let lastText = '';

/** Writes a time in µs since the epoch. The text up to the second is cached, because consecutive calls often have times in the same second. */
export function timestamp(us: number): string {
  const second = Math.floor(us / 1_000_000);
  if (second !== lastSecond) {
    lastText = new Date(second * 1000).toISOString().slice(0, -4);
    lastSecond = second;
  }
  return `${lastText}${String(1_000_000 + us - second * 1_000_000).slice(1)}Z`;
}

export function optionalTime(us: number | null): string | null {
  return us === null ? null : timestamp(us);
}

type DateAndTime = [year: number, month: number, day: number, hour: number, minute: number, second: number];
const instant = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Parses an RFC 3339 time. Returns the µs since the epoch, plus a half if the time lies between two µs. Undefined: the time is invalid. */
export function parseTimestamp(text: string): number | undefined {
  const match = instant.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as DateAndTime;
  const offsetHours = Number(match[9] ?? 0);
  const offsetMinutes = Number(match[10] ?? 0);
  // Second 60 is a leap second. It is read as the first second of the next minute.
  if (hour > 23 || minute > 59 || second > 60 || offsetHours > 23 || offsetMinutes > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offset = (match[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes);
  const seconds = date.getTime() / 1000 + hour * 3600 + (minute - offset) * 60 + second;
  const fraction = (match[7] ?? '').padEnd(6, '0');
  // For a time between two µs, a half is added to the earlier one. Until the year 2112, a double can represent the sum exactly.
  const rest = /[1-9]/.test(fraction.slice(6)) ? 0.5 : 0;
  return seconds * 1e6 + Number(fraction.slice(0, 6)) + rest;
}
