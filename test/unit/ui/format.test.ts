// Numbers, durations, times and ids, as the dashboard shows them.
import { describe, expect, test } from 'vitest';
import { ago, bytes, count, duration, percent, rate, short, shortId } from '../../../ui/core/format.ts';

/** The text with normal spaces in place of thin ones. */
const plain = (text: string) => text.replaceAll('\u202f', ' ');

test.each([
  [0, '0 µs'],
  [840, '840 µs'],
  [12_300, '12.3 ms'],
  [999_400, '999 ms'],
  [1_000_000, '1 s'],
  [4_567_000, '4.57 s'],
  [60_000_000, '1 min'],
  [192_000_000, '3 min 12 s'],
  [18_120_000_000, '5 h 2 min'],
  [273_600_000_000, '3 d 4 h'],
  [-1_500, '−1.5 ms'],
])('a duration of %d µs is %s', (us, text) => {
  expect(plain(duration(us))).toBe(text);
});

test('counts have groups of three digits, or three significant digits and a unit', () => {
  expect([7, 1234, 1234567].map(count).map(plain)).toEqual(['7', '1 234', '1 234 567']);
  expect([0.0843, 950, 12_345, 999_600, 4_567_890].map(short).map(plain)).toEqual([
    '0.0843',
    '950',
    '12.3 k',
    '1 M',
    '4.57 M',
  ]);
});

test('fewer than one a second are counted by the minute', () => {
  expect([0, 0.5, 128].map(rate).map(plain)).toEqual(['0 /s', '30 /min', '128 /s']);
});

test('percentages have two significant digits', () => {
  expect([0, 0.0042, 0.0587, 0.325, 0.996, 1].map(percent).map(plain)).toEqual([
    '0 %',
    '0.42 %',
    '5.9 %',
    '33 %',
    '100 %',
    '100 %',
  ]);
});

test('sizes have units of 1,024 bytes', () => {
  expect([512, 2_048, 3_145_728].map(bytes).map(plain)).toEqual(['512 B', '2 KiB', '3 MiB']);
});

describe('times', () => {
  const now = Date.parse('2026-11-24T02:00:00Z');
  test.each([
    ['2026-11-24T01:59:59.500Z', 'now'],
    ['2026-11-24T01:59:48Z', '12 s ago'],
    ['2026-11-24T01:00:00Z', '1 h ago'],
    ['2026-11-21T02:00:00Z', '3 d ago'],
    ['2026-11-24T02:03:00Z', 'in 3 min'],
  ])('%s is %s', (at, text) => {
    expect(plain(ago(new Date(at), now))).toBe(text);
  });
});

test('the short ids of the jobs of a run differ', () => {
  const run = '01a20b5e-c111-7000-8541-ca8e00000000';
  const first = '01a20b5e-c17b-7000-9e21-3cc200000000';
  const later = '01a20b5e-c17b-7000-9e21-3cc20000001c';
  expect([run, first, later].map(shortId)).toEqual(['c1118541', 'c17b9e21', 'c17b9e21·1c']);
  expect(shortId('nightly')).toBe('nightly');
});
