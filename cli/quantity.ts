// Parsers of options: durations, times, counts and names.
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/quantity.ts';

/** The limit of a timer: a longer one would fire at once. */
const timerMsMax = 24 * 86_400_000;

/** A duration to wait for, in milliseconds. */
export function parseMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('a duration looks like 500ms, 30s, 5m or 1h.');
  if (ms > timerMsMax) throw new InvalidArgumentError('the longest duration is 24d.');
  return ms;
}

/** A time: RFC 3339, or a duration before now; not before 1970. */
export function parseInstant(text: string): string {
  const ms = parseDuration(text);
  if (ms !== undefined) return new Date(Math.max(0, Date.now() - ms)).toISOString();
  if (/^\d{4}-\d\d-\d\d[Tt ]/.test(text)) return text;
  throw new InvalidArgumentError('a time looks like 2026-01-31T12:00:00Z, or 2h for two hours ago.');
}

/** Parses a whole number from 1 to `most`. */
export function countUpTo(most: number): (text: string) => number {
  return text => {
    if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`expected a whole number from 1 to ${most}.`);
  };
}

export const parseCount = countUpTo(999_999_999);

/** Accepts only text of this form. */
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
