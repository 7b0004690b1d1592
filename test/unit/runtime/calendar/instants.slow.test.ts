// The instants of cron entries over ten years in five zones, compared with instants that are computed from the time zone data of the
// system. zones.json has these data: for each zone the offset in minutes at the beginning of 2016, and each change up to 2026, as
// Python's zoneinfo reads them from /usr/share/zoneinfo. Neither croner nor Intl takes part in them.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseCron } from '../../../../runtime/calendar/cron.ts';
import { nextInstant } from '../../../../runtime/calendar/instants.ts';
import { Zone } from '../../../../runtime/calendar/zone.ts';

type ZoneData = { readonly first: number; readonly changes: readonly (readonly [at: string, offset: number])[] };
const zones: { readonly [name: string]: ZoneData } = JSON.parse(
  readFileSync(new URL('zones.json', import.meta.url), 'utf8'),
);
const names = Object.keys(zones);
const minute = 60_000;
const day = 24 * 60 * minute;
const from = Date.UTC(2016, 0, 10);
const to = Date.UTC(2025, 11, 20);

/** A cron entry that fires at these minutes of the day, on the days that match `on`. */
type Entry = {
  readonly cron: string;
  readonly isFixed: boolean;
  readonly minutes: readonly number[];
  readonly on?: (date: Date) => boolean;
};

const all = (count: number, step = 1) => Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step);
const at = (hours: readonly number[], minutes: readonly number[]) => hours.flatMap(h => minutes.map(m => h * 60 + m));

const entries: readonly Entry[] = [
  { cron: '30 2 * * *', isFixed: true, minutes: at([2], [30]) },
  { cron: '0 0 * * *', isFixed: true, minutes: [0] },
  { cron: '0,30 2 * * *', isFixed: true, minutes: at([2], [0, 30]) },
  { cron: '0 1,2 * * *', isFixed: true, minutes: at([1, 2], [0]) },
  { cron: '15 0-5/2 * * *', isFixed: true, minutes: at([0, 2, 4], [15]) },
  { cron: '0-59/30 2 * * *', isFixed: true, minutes: at([2], [0, 30]) },
  { cron: '5-25/10 0-3 * * *', isFixed: true, minutes: at([0, 1, 2, 3], [5, 15, 25]) },
  { cron: '15 2 * * SUN', isFixed: true, minutes: at([2], [15]), on: date => date.getUTCDay() === 0 },
  {
    cron: '45 1 8-31 3,11 *',
    isFixed: true,
    minutes: at([1], [45]),
    on: date => date.getUTCDate() >= 8 && [2, 10].includes(date.getUTCMonth()),
  },
  { cron: '*/15 * * * *', isFixed: false, minutes: all(1440, 15) },
  { cron: '*/20 2 * * *', isFixed: false, minutes: at([2], [0, 20, 40]) },
  { cron: '30 * * * *', isFixed: false, minutes: at(all(24), [30]) },
  { cron: '0 */2 * * *', isFixed: false, minutes: at(all(24, 2), [0]) },
  { cron: '10,40 */3 * * *', isFixed: false, minutes: at(all(24, 3), [10, 40]) },
];

/** The periods of the zone: from, to, offset, all in ms. */
function periodsOf({ first, changes }: ZoneData): readonly (readonly [number, number, number])[] {
  const starts = [Number.NEGATIVE_INFINITY, ...changes.map(([time]) => Date.parse(time))];
  const offsets = [first, ...changes.map(([, offset]) => offset)];
  return starts.map((start, index) => [start, starts[index + 1] ?? Number.POSITIVE_INFINITY, offsets[index]! * minute]);
}

/** All instants at which the entry fires between the two times. */
function expected(
  zone: ZoneData,
  { minutes, isFixed, on = () => true }: Entry,
  fromMs: number,
  toMs: number,
): number[] {
  const periods = periodsOf(zone);
  const found = new Set<number>();
  for (let midnight = Math.floor(fromMs / day) * day - 2 * day; midnight < toMs + 2 * day; midnight += day) {
    if (!on(new Date(midnight))) continue;
    for (const each of minutes) {
      const wall = midnight + each * minute;
      const shown = periods.flatMap(([start, end, offset]) => {
        const instant = wall - offset;
        return instant >= start && instant < end ? [instant] : [];
      });
      if (!isFixed) for (const instant of shown) found.add(instant);
      else found.add(shown.length > 0 ? Math.min(...shown) : gapEnd(periods, wall));
    }
  }
  return [...found].filter(instant => instant > fromMs && instant <= toMs).sort((a, b) => a - b);
}

/** The end of the gap that has this wall-clock time, which no clock shows. */
function gapEnd(periods: ReturnType<typeof periodsOf>, wall: number): number {
  const [start] = periods.find(([from, , offset], index) => {
    return index > 0 && wall < from + offset && wall >= from + periods[index - 1]![2];
  })!;
  return start;
}

function found(cron: string, zone: string, fromMs: number, toMs: number): number[] {
  const pattern = parseCron(cron);
  if (typeof pattern === 'string') throw new Error(pattern);
  const place = new Zone(zone);
  const instants: number[] = [];
  for (let instant = nextInstant(pattern, place, fromMs); instant !== null && instant <= toMs; ) {
    instants.push(instant);
    instant = nextInstant(pattern, place, instant);
  }
  return instants;
}

const shown = (instants: readonly number[]) => instants.map(instant => new Date(instant).toISOString());

test.each(names)('%s: a time of day fires once a day for ten years', name => {
  const [entry] = entries;
  const wanted = expected(zones[name]!, entry!, from, to);
  expect(wanted.length).toBeGreaterThan(3_600);
  expect(shown(found(entry!.cron, name, from, to))).toEqual(shown(wanted));
});

test.each(names)(
  '%s: single times, lists, ranges and steps fire as they should around each change of the offset',
  name => {
    const zone = zones[name]!;
    expect(zone.changes.length).toBe(20);
    for (const [change] of zone.changes) {
      const fromMs = Math.max(from, Date.parse(change) - 1.5 * day);
      const toMs = Math.min(to, Date.parse(change) + 1.5 * day);
      for (const entry of entries)
        expect([entry.cron, ...shown(found(entry.cron, name, fromMs, toMs))]).toEqual([
          entry.cron,
          ...shown(expected(zone, entry, fromMs, toMs)),
        ]);
    }
  },
);

test('the data of the test have gaps and overlaps of half an hour, an hour and two hours, also at midnight', () => {
  const gaps = names.flatMap(name =>
    zones[name]!.changes.map(
      ([, offset], index) => offset - (zones[name]!.changes[index - 1]?.[1] ?? zones[name]!.first),
    ),
  );
  expect(new Set(gaps)).toEqual(new Set([30, -30, 60, -60, 120, -120]));
});

test('a time in the gap fires at its end, several there fire once, and a fixed time in the overlap fires the first time', () => {
  const gap = Date.parse('2026-03-28T12:00:00Z');
  expect(shown(found('30 2 * * *', 'Europe/Berlin', gap, gap + day))).toEqual(['2026-03-29T01:00:00.000Z']);
  expect(shown(found('0,30 2 * * *', 'Europe/Berlin', gap, gap + day))).toEqual(['2026-03-29T01:00:00.000Z']);
  expect(shown(found('30 2 * * *', 'Europe/Berlin', Date.parse('2026-03-29T01:00:00Z'), gap + 2 * day))).toEqual([
    '2026-03-30T00:30:00.000Z',
  ]);
  expect(found('*/15 2 * * *', 'Europe/Berlin', gap, gap + day)).toEqual([]);
  const overlap = Date.parse('2025-10-25T12:00:00Z');
  expect(shown(found('30 2 * * *', 'Europe/Berlin', overlap, overlap + day))).toEqual(['2025-10-26T00:30:00.000Z']);
  expect(found('*/15 2 * * *', 'Europe/Berlin', overlap, overlap + day)).toHaveLength(8);
});

test('a day that a zone left out fires at the beginning of the next one', () => {
  // Samoa had no 30 December 2011.
  const before = Date.parse('2011-12-29T12:00:00Z');
  expect(shown(found('0 9 30 12 *', 'Pacific/Apia', before, before + 3 * day))).toEqual(['2011-12-30T10:00:00.000Z']);
});

test('with six fields the first one is the second', () => {
  const start = Date.parse('2026-01-01T00:00:00Z');
  expect(shown(found('*/20 0 0 * * *', 'UTC', start, start + day))).toEqual([
    '2026-01-01T00:00:20.000Z',
    '2026-01-01T00:00:40.000Z',
    '2026-01-02T00:00:00.000Z',
  ]);
});

test('an instant between two seconds is before the next second', () => {
  const pattern = parseCron('* * * * * *');
  if (typeof pattern === 'string') throw new Error(pattern);
  expect(nextInstant(pattern, new Zone('UTC'), 999)).toBe(1_000);
  expect(nextInstant(pattern, new Zone('UTC'), 1_000)).toBe(2_000);
});
