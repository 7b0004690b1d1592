// What cron expressions may contain, and the messages for others.
import { expect, test } from 'vitest';
import { cronCharsMax, parseCron } from '../../../../runtime/calendar/cron.ts';
import { zoneNamed } from '../../../../runtime/calendar/zone.ts';

const start = Date.parse('2026-01-01T00:00:00Z');

function next(text: string): string | null {
  const pattern = parseCron(text);
  if (typeof pattern === 'string') throw new Error(pattern);
  const match = pattern.next(start);
  return match === null ? null : new Date(match).toISOString();
}

test.each([
  ['* * * * *', '2026-01-01T00:01:00.000Z'],
  ['*/5 * * * * *', '2026-01-01T00:00:05.000Z'],
  ['0 9-17/2 * * MON-FRI', '2026-01-01T09:00:00.000Z'],
  ['0 0 * * 7', '2026-01-04T00:00:00.000Z'],
  ['0 0 L * *', '2026-01-31T00:00:00.000Z'],
  ['0 0 * * FRI#2', '2026-01-09T00:00:00.000Z'],
  ['0 0 29 2 *', '2028-02-29T00:00:00.000Z'],
  ['@daily', '2026-01-02T00:00:00.000Z'],
  ['@Hourly', '2026-01-01T01:00:00.000Z'],
  ['0 0 30 2 *', null],
])('%s next matches at %s', (text, match) => {
  expect(next(text)).toBe(match);
});

test('a match comes after the time that is asked for', () => {
  const pattern = parseCron('0 0 * * *');
  if (typeof pattern === 'string') throw new Error(pattern);
  expect(pattern.next(start)).toBe(Date.parse('2026-01-02T00:00:00Z'));
  expect(pattern.next(start - 1)).toBe(start);
});

test.each([
  ['*/15 2 * * *', false],
  ['5 * * * *', false],
  ['5 */2 * * *', false],
  ['? 2 * * *', false],
  ['@hourly', false],
  ['5 2 * * *', true],
  ['0-59/15 2 * * *', true],
  ['*/10 5 2 * * *', true],
  ['@daily', true],
])('%s is fixed: %s', (text, isFixed) => {
  expect(parseCron(text)).toMatchObject({ isFixed });
});

test.each([
  ['', 'has 0 fields; it needs 5'],
  ['* * * *', 'has 4 fields; it needs 5'],
  ['* * * * * * *', 'has 7 fields; it needs 5'],
  ['60 * * * *', 'has 60 as minute; it must be from 0 to 59'],
  ['0 24 * * *', 'has 24 as hour; it must be from 0 to 23'],
  ['0 0 32 * *', 'has 32 as day of the month; it must be from 1 to 31'],
  ['0 0 * 13 *', 'has 13 as month; it must be from 1 to 12'],
  ['0 0 0 * *', 'has 0 as day of the month; it must be from 1 to 31'],
  ['0 0 * * 8', 'has 8 as day of the week; it must be from 0 to 7'],
  ['*/0 * * * *', 'is not a cron expression: '],
  ['5/15 * * * *', 'is not a cron expression: '],
  ['often * * * *', 'is not a cron expression: '],
  ['constructor', 'has 1 fields; it needs 5'],
  ['__proto__', 'has 1 fields; it needs 5'],
  ['@reboot', 'has the unknown name "@reboot"; known are @yearly'],
  ['*'.repeat(cronCharsMax + 1), `has ${cronCharsMax + 1} characters; it may have ${cronCharsMax}`],
])('%j is refused: %s', (text, problem) => {
  expect(parseCron(text)).toContain(problem);
});

test('a zone is known by its IANA name only', () => {
  expect(zoneNamed('Europe/Berlin')?.name).toBe('Europe/Berlin');
  for (const name of ['Europe/Atlantis', '+01:00', '', '__proto__']) expect(zoneNamed(name)).toBeUndefined();
});
