// Lives of the job actor, step by step. Random ones, with everything that fails, are in test/service/simulation.

import { expect, it } from 'vitest';
import { attemptsOf } from '../../../../actors/job/records/attempts.ts';
import { decodeBlock } from '../../../../actors/job/records/block.ts';
import { emptyCounts, readCounts } from '../../../../actors/job/records/counts.ts';
import { journalEntryBytes } from '../../../../actors/job/records/journal.ts';
import { findJob } from '../../../../actors/job/views/jobs.ts';
import { parseId } from '../../../../runtime/ids.ts';
import { unpack } from '../../../../runtime/packing.ts';
import { calm, command, config, dice, type Faults, logSizes, plugin, Simulation } from './simulator.ts';

const plugins = [
  plugin('fast'),
  plugin('careful', {}, [command('handle', { retrySafe: false })]),
  plugin('single', { parallelism: 1 }),
  plugin('program', { manifest: { ...plugin('program').manifest, runtime: 'process' } }),
  plugin('killer'),
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

function check(world: Simulation): void {
  const { store } = world;
  expect(store.count('open')).toBe(0);
  expect(store.count('retries')).toBe(0);
  expect(store.count('holds')).toBe(0);
  expect(world.strays).toEqual([]);
  const ended = { succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: 0 };
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
  // A kill between commit and answer leaves jobs that were not acknowledged, so there may be more ends than answers.
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
  const world = simulate(1, { ...calm, killing: 0 }, 500);
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

it('wakes retries that are due together over several turns, if a turn has no time left', () => {
  const world = new Simulation(config(plugins), { ...calm, error: 1 }, dice(1));
  world.submit('fast', 'handle', ...Array.from({ length: 20 }, () => ({})));
  while ((world.isDue || world.held.length > 0) && world.step());
  world.nowUs += 3_600_000_000;
  world.isSlow = true;
  world.alarmUs = null;
  world.tell({ kind: 'alarm' });
  world.turn();
  expect(world.alarmUs ?? Number.POSITIVE_INFINITY).toBeLessThan(world.nowUs);
  world.isSlow = false;
  world.run();
  check(world);
});

it('keeps no block in memory for retries that become due while the service is paused', () => {
  const world = new Simulation(config(plugins), { ...calm, error: 1 }, dice(1));
  for (let block = 0; block < 5; block++) {
    world.submit('fast', 'handle', {});
    world.turn();
  }
  while ((world.isDue || world.held.length > 0) && world.step());
  const target = { kind: 'system', name: '', command: null } as const;
  const pause = { ...target, reason: null, by: 'test', untilUs: null, rejects: false };
  world.tell({ kind: 'pause', replyTo: { ask: 0 }, pause });
  world.nowUs += 3_600_000_000;
  world.tell({ kind: 'alarm' });
  world.turn();
  expect(world.waitsOf(world.accepted[0]!)).toMatchObject({ reason: 'paused' });
  expect(world.queue().lanes.find(lane => lane.plugin === 'fast')).toMatchObject({ queued: 5, held: 5 });
  expect(world.loadedBlocks).toBe(0);
  world.tell({ kind: 'resume', replyTo: { ask: 0 }, target, by: 'test' });
  world.run();
  check(world);
});

it('recovers the blocks of a state over several turns, if a turn has no time left', () => {
  const world = new Simulation(config(plugins), { ...calm, error: 1 }, dice(1));
  for (let block = 0; block < 3; block++) {
    world.submit('fast', 'handle', {});
    world.turn();
  }
  while ((world.isDue || world.held.length > 0) && world.step());
  world.start();
  world.isSlow = true;
  world.turn();
  expect(world.isDue).toBe(true);
  world.isSlow = false;
  world.run();
  check(world);
});

it('takes what it prunes off the counters once, however often it is told to in a turn', () => {
  const retention = { jobsMs: 1000, jobsMax: 1e9, heldMs: 1e12 };
  const world = new Simulation(
    { ...config(plugins), state: { path: '/state', retention, log: logSizes } },
    calm,
    dice(1),
  );
  world.submit('fast', 'handle', {});
  world.run();
  world.nowUs += 2_000_000;
  for (let time = 0; time < 2; time++) world.tell({ kind: 'prune' });
  world.run();
  expect(world.store.count('blocks')).toBe(0);
  expect(readCounts(world.store)).toEqual([
    { plugin: 'fast', command: 'handle', counts: { ...emptyCounts(), pruned: { accepted: 1, succeeded: 1 } } },
  ]);
});

it('prunes by age what was accepted before and after the clock was ahead, and what was accepted meanwhile', () => {
  const retention = { jobsMs: 1000, jobsMax: 1e9 };
  const base = config(plugins);
  const world = new Simulation(
    { ...base, state: { ...base.state, retention: { ...base.state.retention, ...retention } } },
    calm,
    dice(1),
  );
  const yearUs = 365 * 24 * 3_600_000_000;
  const add = (count: number) => {
    for (let job = 0; job < count; job++) {
      world.submit('fast', 'handle', { job });
      world.run();
    }
  };
  const blocksAfter = (us: number) => {
    world.nowUs += us;
    world.tell({ kind: 'prune' });
    world.run();
    return world.store.count('blocks');
  };
  add(2);
  world.nowUs += yearUs;
  add(10);
  world.nowUs -= yearUs;
  world.start();
  // When jobs with times in the future were accepted is not known, so they count as accepted before the start.
  expect(blocksAfter(2_000_000)).toBe(10);
  expect(blocksAfter(500_000)).toBe(10);
  add(6);
  expect(blocksAfter(100_000)).toBe(16);
  expect(blocksAfter(500_000)).toBe(6);
  expect(blocksAfter(2_000_000)).toBe(0);
  // After another start, their times follow from jobs that were accepted after them.
  add(2);
  world.nowUs += yearUs;
  add(10);
  world.nowUs -= yearUs;
  world.start();
  add(6);
  expect(blocksAfter(500_000)).toBe(18);
  world.start();
  expect(blocksAfter(600_000)).toBe(0);
});

it('hands out nothing in the turn that is told to stop', () => {
  const world = new Simulation(config(plugins), calm, dice(1));
  world.submit('fast', 'handle', {});
  world.tell({ kind: 'stop', replyTo: { ask: 0 }, graceMs: 0 });
  world.turn();
  expect([world.accepted.length, world.held.length]).toEqual([1, 0]);
});

it('ends at a stop what hosts still ran and must not run twice; the rest waits again', () => {
  const world = new Simulation(config(plugins), calm, dice(1));
  for (const name of ['careful', 'fast']) world.submit(name, 'handle', {});
  world.turn();
  expect(world.held).toHaveLength(2);
  const replyTo = { ask: 0 };
  for (const message of [
    { kind: 'stop', replyTo, graceMs: 0 },
    { kind: 'hosts_stopped', replyTo },
  ] as const) {
    world.tell(message);
    world.turn();
  }
  const [careful, fast] = world.accepted.map(id => findJob(world.store, parseId(id)!));
  expect([careful!.status, careful!.lastError]).toEqual(['failed', 'lost while running']);
  expect([fast!.status, fast!.attempt]).toEqual(['queued', 0]);
});

it('answers what a job waits for whose record cannot be decoded: nobody knows', () => {
  const world = new Simulation(config(plugins), calm, dice(1));
  world.submit('fast', 'handle', {});
  world.turn();
  const batch = world.store.batch();
  for (const key of world.store.keys('open', {})) batch.put('open', key, Buffer.of(0x93));
  world.store.commit(batch);
  world.start();
  world.turn();
  expect(world.waitsOf(world.accepted[0]!)).toBe(null);
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
