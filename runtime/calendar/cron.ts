// Parses cron expressions, by means of croner, and finds the next matching time of a wall clock. instants.ts finds the instant at
// which the wall clock of a time zone shows that time.
import { Cron } from 'croner';

/** A time that a wall clock shows, in ms since the epoch, as if the clock showed UTC. */
export type WallMs = number;

export type CronPattern = {
  /** False if the minute field or the hour field begins with `*` or `?`. */
  readonly isFixed: boolean;
  /** Returns the first matching time later than `after`; null if there is none. */
  readonly next: (after: WallMs) => WallMs | null;
};

export const cronCharsMax = 200;
/** The maximum number of parsed expressions that are kept for reuse. */
const parsedMax = 4_096;
const parsed = new Map<string, CronPattern>();
/** The years of every expression, in the form of croner. Null: none has been parsed. */
let everyYear: number[] | null = null;

const fields = [
  { name: 'second', from: 0, to: 59 },
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12 },
  { name: 'day of the week', from: 0, to: 7 },
] as const;
const nicknames: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

/** Returns the pattern, or the problem of the text as a predicate, such as `has 3 fields; …`. */
export function parseCron(text: string): CronPattern | string {
  const known = parsed.get(text);
  if (known) {
    parsed.delete(text);
    parsed.set(text, known);
    return known;
  }
  const pattern = parse(text);
  if (typeof pattern === 'string') return pattern;
  const [oldest] = parsed.keys();
  if (parsed.size >= parsedMax && oldest !== undefined) parsed.delete(oldest);
  parsed.set(text, pattern);
  return pattern;
}

function parse(text: string): CronPattern | string {
  if (text.length > cronCharsMax) return `has ${text.length} characters; it may have ${cronCharsMax}`;
  const written = text.trim();
  const name = written.toLowerCase();
  if (name.startsWith('@') && !nicknames.has(name))
    return `has the unknown name ${JSON.stringify(written)}; known are ${[...nicknames.keys()].join(', ')}`;
  const full = nicknames.get(name) ?? written;
  const parts = full.split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6) {
    const given = written === '' ? 0 : parts.length;
    return `has ${given} fields; it needs 5 (minute, hour, day of the month, month, day of the week), or 6 with the second first`;
  }
  const all = parts.length === 5 ? ['0', ...parts] : parts;
  const wrong = all.map(outOfRange).find(problem => problem !== null);
  if (wrong) return wrong;
  let cron: Cron;
  try {
    // croner finds the next match faster with an offset than with a zone.
    cron = new Cron(all.join(' '), { utcOffset: 0, paused: true, mode: '6-part' });
  } catch (error) {
    return `is not a cron expression: ${(error as Error).message.replace(/^[A-Za-z]+: /, '')}`;
  }
  // croner gives each expression a list of 10,000 years, all of which match. One list for all expressions saves 80 kB for each.
  const pattern = cron['_states'].pattern;
  everyYear ??= pattern.year;
  pattern.year = everyYear;
  const isFixed = !/^[*?]/.test(all[1]!) && !/^[*?]/.test(all[2]!);
  return { isFixed, next: after => cron.nextRun(new Date(after))?.getTime() ?? null };
}

/** Says which number in a field is out of range; null if none is. croner's own messages would count days and months from 0. */
function outOfRange(part: string, index: number): string | null {
  const { name, from, to } = fields[index]!;
  // A number after a slash is a step, and a number after a hash says which week of the month is meant. croner checks both.
  const numbers = part.replaceAll(/[/#][0-9]+/g, '').match(/[0-9]+/g) ?? [];
  const wrong = numbers.find(digits => Number(digits) < from || Number(digits) > to);
  return wrong === undefined ? null : `has ${wrong} as ${name}; it must be from ${from} to ${to}`;
}
