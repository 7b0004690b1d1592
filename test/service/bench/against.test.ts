// The comparison of two builds: the figures of a metric before and after a change, and what the table says of them.
import { expect, test } from 'vitest';
import { changeRecords, changesOf, changeTable } from '../../../bench/against/change.ts';

const rate = (value: number) => ({ name: 'jobs_per_s', value, unit: '1/s' });
const round = (before: number, after: number) => ({ before: [rate(before)], after: [rate(after)] });

test('before and after are the medians of the rounds, the ratio is that of each round', () => {
  const changes = changesOf([round(100, 150), round(400, 400), round(200, 400)]);
  expect(changeRecords(changes)).toEqual({
    jobs_per_s: { unit: '1/s', before: 200, after: 400, ratio: 1.5, least: 1, most: 2 },
  });
  expect(changeTable(changes)).toMatch(/jobs_per_s +1\/s +200 +400 +1\.500 +1\.000 +2\.000/);
});

test('what was nothing before has no ratio', () => {
  const changes = changesOf([round(0, 5)]);
  expect(changes).toMatchObject([{ before: 0, after: 5, ratio: null }]);
  expect(changeTable(changes)).toMatch(/0 +5 +–$/);
});

test('only numbers that both have are compared', () => {
  const hash = { name: 'work_hash', value: 'd96a', unit: 'sha256/64' };
  const other = { name: 'new', value: 1, unit: 'ms' };
  expect(changesOf([{ before: [rate(1), hash], after: [rate(2), hash, other] }]).map(({ name }) => name)).toEqual([
    'jobs_per_s',
  ]);
});
