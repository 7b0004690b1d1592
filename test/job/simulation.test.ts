// Random lives of the job actor: whatever fails, every accepted job ends once, and the store agrees with itself.

import { expect, it } from 'vitest';
import { attemptsOf } from '../../actors/job/attempts.ts';
import { decodeBlock } from '../../actors/job/block.ts';
import { emptyCounts, readCounts } from '../../actors/job/counts.ts';
import { endedUnrunMax } from '../../actors/job/dispatch.ts';
import { journalEntryBytes } from '../../actors/job/journal.ts';
import { findJob } from '../../actors/job/view.ts';
import { parseId } from '../../runtime/ids.ts';
import { unpack } from '../../runtime/packing.ts';
import { fc } from '../seed.ts';
import { calm, command, config, dice, type Faults, plugin, Simulation } from './simulator.ts';

const plugins = [
  plugin('fast'),
  plugin('careful', {}, [command('handle', { retrySafe: false })]),
  plugin('single', { parallelism: 1 }),
  plugin('program', { manifest: { ...plugin('program').manifest, runtime: 'process' } }),
  plugin('stubborn', { retry: { attemptsMax: 1, backoffBaseMs: 1, backoffMaxMs: 1 } }),
];

function simulate(seed: number, faults: Faults, jobs: number): Simulation {
  const random = dice(seed);
  const world = new Simulation(config(plugins), faults, random);
  for (let job = 0; job < jobs; job++) {
    world.submit(plugins[Math.floor(random() * plugins.length)]!.name, 'handle', { job });
    while (random() < 0.3 && world.step());
  }
  world.run();
  return world;
}

it('ends every accepted job exactly once, whatever fails', () => {
  const chance = fc.constantFrom(0, 0, 0.02, 0.2);
  const faults = fc.record({
    error: chance,
    permanent: chance,
    timeout: chance,
    returned: chance,
    hostLost: fc.constantFrom(0, 0.02, 0.1),
    serviceKilled: fc.constantFrom(0, 0.02, 0.05),
    clockSetBack: fc.constantFrom(0, 0.5),
  });
  fc.assert(
    fc.property(fc.integer(), faults, fc.integer({ min: 1, max: 400 }), (seed, odds, jobs) => {
      check(simulate(seed, odds, jobs));
    }),
    { numRuns: 150 },
  );
});

function check(world: Simulation): void {
  const { store } = world;
  expect(store.count('open')).toBe(0);
  expect(store.count('retries')).toBe(0);
  const ended = { succeeded: 0, failed: 0, timed_out: 0, dead: 0 };
  for (const id of world.accepted) {
    const job = findJob(store, parseId(id)!)!;
    expect(Object.keys(ended)).toContain(job.status);
    ended[job.status as keyof typeof ended]++;
    expect(job.attempt).toBeLessThanOrEqual(4);
  }
  const attempts = [...store.scan('blocks', {})].flatMap(({ key, value }) => [
    ...attemptsOf(store, key, 0, decodeBlock(value).count),
  ]);
  const finals = attempts.filter(({ attempt }) => attempt.final);
  // A kill between commit and answer leaves jobs that nobody was told of: more ends than answers, never fewer.
  expect(finals.length).toBeGreaterThanOrEqual(world.accepted.length);
  let counted = 0;
  for (const { value } of store.scan('counters', {})) {
    const counts = unpack<Record<string, number>>(value);
    expect(counts['accepted']).toBe(counts['succeeded']! + counts['failed']! + counts['timed_out']! + counts['dead']!);
    counted += counts['accepted']!;
  }
  expect(counted).toBe(finals.length);
  const journal = [...store.scan('journal', {})].reduce((sum, { value }) => sum + value.length / journalEntryBytes, 0);
  expect(journal).toBe(attempts.length);
}

it('runs each job once when nothing fails', () => {
  const world = simulate(1, calm, 500);
  expect(world.runs).toHaveLength(500);
  expect(new Set(world.runs.map(run => run.id)).size).toBe(500);
});

it('loses no job, and lets no retry wait longer, when the clock was set back before a start', () => {
  const world = new Simulation(config(plugins), { ...calm, error: 1 }, dice(1));
  world.submit('fast', 'handle', {});
  world.submit('single', 'handle', {});
  while (world.step() && world.alarmUs === null);
  expect(world.alarmUs).toBeGreaterThan(world.nowUs);
  world.submit('program', 'handle', {});
  world.turn();
  world.nowUs -= 3_600_000_000;
  const { nowUs } = world;
  world.start();
  world.run();
  check(world);
  const { backoffMaxMs } = plugins[0]!.retry;
  expect(world.nowUs - nowUs).toBeLessThan(4 * backoffMaxMs * 1000);
});

it('takes what it prunes off the counters once, however often it is told to in a turn', () => {
  const retention = { jobsMs: 1000, jobsMax: 1e9 };
  const world = new Simulation({ ...config(plugins), state: { path: '/state', retention } }, calm, dice(1));
  world.submit('fast', 'handle', {});
  world.run();
  world.nowUs += 2_000_000;
  for (let time = 0; time < 2; time++) world.tell({ kind: 'prune' });
  world.run();
  expect(world.store.count('blocks')).toBe(0);
  expect(readCounts(world.store)).toEqual([{ plugin: 'fast', command: 'handle', counts: emptyCounts() }]);
});

it('hands out nothing in the turn that is told to stop', () => {
  const world = new Simulation(config(plugins), calm, dice(1));
  world.submit('fast', 'handle', {});
  world.tell({ kind: 'stop', replyTo: { thread: 'edge', ask: 0 }, graceMs: 0 });
  world.turn();
  expect([world.accepted.length, world.held.length]).toEqual([1, 0]);
});

it('never runs a job again that must not be retried', () => {
  const world = new Simulation(config(plugins), { ...calm, error: 0.3, hostLost: 0.1, serviceKilled: 0.1 }, dice(7));
  for (let job = 0; job < 200; job++) world.submit('careful', 'handle', {});
  world.run();
  expect(new Set(world.runs.map(run => run.id)).size).toBe(world.runs.length);
});

it('refuses new work past the queue depth and takes it again when there is room', () => {
  const world = new Simulation(config(plugins, 3), calm, dice(1));
  for (let job = 0; job < 5; job++) world.submit('fast', 'handle', {});
  world.run();
  expect(world.accepted).toHaveLength(3);
  expect(world.refused).toEqual(['queue_full', 'queue_full']);
  world.submit('fast', 'handle', {});
  world.run();
  expect(world.accepted).toHaveLength(4);
});

it('ends jobs whose plugin is gone some at a time, and others are handed out in between', () => {
  const world = new Simulation(config(plugins), calm, dice(1));
  const count = 5000;
  for (let job = 0; job < count; job++) world.submit('stubborn', 'handle', {});
  world.submit('fast', 'handle', {});
  world.tell({ kind: 'reconfigure', config: config(plugins.slice(0, -1)) });
  const endedBefore: number[] = [];
  while (world.step()) endedBefore.push(world.store.count('attempts'));
  const ends = endedBefore.map((ended, i) => ended - (endedBefore[i - 1] ?? 0));
  expect(Math.max(...ends)).toBeLessThanOrEqual(endedUnrunMax + 1);
  expect(world.store.count('attempts')).toBe(count + 1);
  expect(world.runs).toHaveLength(1);
});
