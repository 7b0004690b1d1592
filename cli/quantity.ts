// Parsers for the values of options: durations, times, counts and texts of a given form.
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/quantity.ts';
import { parseTimestamp } from '../service/json/timestamp.ts';

/** The longest duration in whole days that a timer of Node can take. A timer of 2^31 ms or more fires at once. */
const timerMsMax = 24 * 86_400_000;

/** Parses a duration such as 30s, in milliseconds. Throws InvalidArgumentError if it is no duration, or longer than `timerMsMax`. */
export function parseMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('a duration looks like 500ms, 30s, 5m or 1h.');
  if (ms > timerMsMax) throw new InvalidArgumentError('the longest duration is 24d.');
  return ms;
}

/**
 * Parses a point in time. An RFC 3339 time is returned unchanged. A duration such as `2h` means two hours ago; a time before 1970 becomes
 * the beginning of 1970.
 */
export function parseInstant(text: string): string {
  const ms = parseDuration(text);
  if (ms !== undefined) return new Date(Math.max(0, Date.now() - ms)).toISOString();
  if (parseTimestamp(text) !== undefined) return text;
  throw new InvalidArgumentError(
    'a time looks like 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00, and must exist; 2h means two hours ago.',
  );
}

/** Converts a time that `parseInstant` has returned to ms since the epoch. */
export function instantMs(instant: string): number {
  return Math.floor(parseTimestamp(instant)! / 1000);
}

/** Makes a parser of whole numbers from 1 to `most`. */
export function countUpTo(most: number): (text: string) => number {
  return text => {
    if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`expected a whole number from 1 to ${most}.`);
  };
}

export const parseCount = countUpTo(999_999_999);

/** Makes a parser that accepts only text of this form. The error message for any other text is `expected`. */
export function matching(form: RegExp, expected: string): (text: string) => string {
  return text => {
    if (form.test(text)) return text;
    throw new InvalidArgumentError(expected);
  };
}

/** Gathers the values of an option that can be repeated. */
export function gather(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}
