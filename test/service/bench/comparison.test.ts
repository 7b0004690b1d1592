// How headgate is compared with its peers: round by round, with the best of those whose jobs are on disk.
import { expect, test } from 'vitest';
import { contestMetrics, contestTable } from '../../../bench/compare/comparison.ts';
import { ratioOf, typical, worksOf } from '../../../bench/compare/works.ts';
import type { TurnFigures } from '../../../bench/peers/turn.ts';

const facts = { versions: 'x 1', durability: 'synced', handlers: 'in process', records: 'kept', join: 'its own' };

function turn(drainRate: number, startUs: number, bulkRate: number | null = null): TurnFigures {
  const rates = { oneRate: 1, flightRate: 1, bulkRate, drainRate, runRates: [1_000, 3_000] };
  return { facts, ...rates, startUs: [startUs], runUs: [1], fanoutUs: [5_000], drained: 9, shortfall: null };
}

const works = worksOf({ runsAtOnce: [32, 128], fanouts: [1_000] });
const work = (name: string) => works.find(each => each.name === name)!;

test('more of a rate and less of a time are both so many times better', () => {
  const [own, other] = [[turn(400, 50)], [turn(100, 200)]];
  expect(ratioOf(work('drain'), own, [other])).toEqual({ median: 4, least: 4, most: 4 });
  expect(ratioOf(work('start_p50'), own, [other])).toEqual({ median: 4, least: 4, most: 4 });
});

test('each round is held against the best peer of that round, and the spread is that of the rounds', () => {
  const own = [turn(400, 1), turn(600, 1), turn(900, 1)];
  const first = [turn(100, 1), turn(50, 1), turn(300, 1)];
  const second = [turn(80, 1), turn(300, 1), turn(100, 1)];
  expect(ratioOf(work('drain'), own, [first, second])).toEqual({ median: 3, least: 2, most: 4 });
});

test('work that headgate or every peer lacks has no ratio', () => {
  const own = [turn(1, 1)];
  expect(ratioOf(work('submit_bulk'), own, [[turn(1, 1, 500)]])).toBeNull();
  expect(ratioOf(work('drain'), own, [])).toBeNull();
  expect(typical(work('submit_bulk'), own)).toBeNull();
});

test('steps are a work for each number of runs at once, with the same target', () => {
  const own = [turn(1, 1)];
  expect([typical(work('steps_32'), own), typical(work('steps_128'), own)]).toEqual([1_000, 3_000]);
  expect([work('steps_32').target, work('steps_128').target]).toEqual([2.5, 2.5]);
});

test('the table names what is missing with its reason, and judges only by peers that sync', () => {
  const turns = { headgate: [turn(400, 1)], 'a-always': [turn(100, 1)], 'b-lazily': [turn(4_000, 1)] };
  const contest = { turns, works, synced: ['a-always', 'c'], missing: { c: 'not installed' } };
  const table = contestTable(contest);
  expect(table).toMatch(/drain +1\/s +400 +100 +4,000 +4\.00 \(4\.00–4\.00\) +≥ 4\.00 met/);
  expect(table).toContain('c: not measured: not installed');
  const metrics = Object.fromEntries(contestMetrics(contest).map(({ name, value }) => [name, value]));
  expect(metrics).toMatchObject({ 'drain.b-lazily': 4_000, 'drain.ratio': 4, 'fanout_1000.headgate': 5 });
  expect(metrics).not.toHaveProperty('submit_bulk.headgate');
});

test('a fan-out that a peer did not do in time is a gap, and the table says why', () => {
  const short = { ...turn(100, 1), fanoutUs: [null], shortfall: 'a fan-out of 1000 did not finish within 60000 ms' };
  const contest = { turns: { headgate: [turn(400, 1)], a: [short] }, works, synced: ['a'], missing: {} };
  expect(contestMetrics(contest).map(({ name }) => name)).not.toContain('fanout_1000.a');
  expect(contestTable(contest)).toMatch(/a: x 1.*; a fan-out of 1000 did not finish within 60000 ms/);
});
