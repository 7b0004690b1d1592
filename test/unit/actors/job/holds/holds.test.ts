// Jobs of plugins and commands that the configuration does not have: they wait, uncharged, and go on or fail in time.
import { expect, it } from 'vitest';
import { heldMovesPerTurnMax } from '../../../../../actors/job/dispatch/dispatch.ts';
import { readCounts } from '../../../../../actors/job/records/counts.ts';
import { decodeHold, encodeHold, type Hold, holdKey } from '../../../../../actors/job/records/hold.ts';
import type { CallOptions } from '../../../../../actors/job/records/options.ts';
import { findJob } from '../../../../../actors/job/views/jobs.ts';
import { selfcheck } from '../../../../../actors/job/views/selfcheck.ts';
import type { Config, PluginInstance } from '../../../../../config/config.ts';
import { parseId } from '../../../../../runtime/ids.ts';
import { pack } from '../../../../../runtime/packing.ts';
import type { Sliced } from '../../../../../runtime/slices.ts';
import { cyclesOf } from '../../../../support/deep.ts';
import { fc } from '../../../../support/seed.ts';
import { inSlices } from '../../../../support/slices.ts';
import { calm, command, config, dice, heldMs, plugin, Simulation } from '../simulator.ts';

const two = [command('handle'), command('other')];
const whole = config([plugin('fast'), plugin('gone', {}, two)]);
const absent = config([plugin('fast')]);
const halved = config([plugin('fast'), plugin('gone', {}, [command('other')])]);

function jobsOf(world: Simulation) {
  return world.accepted.map(id => findJob(world.store, parseId(id)!)!);
}

/** A world under the configuration `next`, in which the plugin `gone` has `jobs` queued jobs of each command. */
function heldWorld(next: Config, jobs: number, commands = ['handle']): Simulation {
  const world = new Simulation(whole, calm, dice(1));
  for (const name of commands) for (let job = 0; job < jobs; job++) world.submit('gone', name, { job });
  world.reconfigure(next);
  world.turn();
  return world;
}

/** Runs the world until only a configuration with the missing plugin could change anything. */
function settle(world: Simulation): void {
  world.tell({ kind: 'prune' });
  while (world.step({ mayReturn: false }));
}

it('a job of a plugin that was removed stays queued, runs nothing, and runs once when the plugin is back', () => {
  const world = heldWorld(absent, 3);
  world.submit('fast', 'handle', {});
  settle(world);
  expect(jobsOf(world).map(({ status, attempt }) => [status, attempt])).toEqual([
    ...Array.from({ length: 3 }, () => ['queued', 0]),
    ['succeeded', 1],
  ]);
  world.reconfigure(whole);
  world.run();
  expect(jobsOf(world).every(({ status, attempt }) => status === 'succeeded' && attempt === 1)).toBe(true);
  expect(world.runs).toHaveLength(4);
  expect(world.store.count('holds')).toBe(0);
});

it('a command that was removed holds its own jobs alone, and they come back with it', () => {
  const jobs = 300;
  const world = heldWorld(halved, jobs, ['handle', 'other']);
  settle(world);
  const done = jobsOf(world).filter(({ status }) => status === 'succeeded');
  expect([done.length, done.every(job => job.command === 'other')]).toEqual([jobs, true]);
  world.reconfigure(whole);
  world.run();
  expect(jobsOf(world).every(({ status, attempt }) => status === 'succeeded' && attempt === 1)).toBe(true);
  expect(world.runs).toHaveLength(2 * jobs);
});

it('a hold has one beginning, over restarts, and none once the plugin is back', () => {
  const world = heldWorld(absent, 1);
  const since = () => [...world.store.scan('holds', {})].map(({ key, value }) => decodeHold(key, value)?.sinceUs);
  const [first] = since();
  expect(first).toBeGreaterThan(1_700_000_000_000_000);
  for (let time = 0; time < 3; time++) {
    world.nowUs += 3_600_000_000;
    world.start();
    settle(world);
  }
  expect(since()).toEqual([first]);
  world.reconfigure(whole);
  world.turn();
  expect(since()).toEqual([]);
  world.reconfigure(absent);
  world.turn();
  expect(since()).not.toEqual([first]);
});

it('the selfcheck tells of a hold that holds nothing', async () => {
  const world = heldWorld(absent, 1);
  settle(world);
  const run = <T>(work: Sliced<T>) => inSlices(work, () => {});
  const options = { reader: world.store, askIdle: async () => new Uint8Array(0), pause: async () => {}, run };
  expect((await selfcheck(options)).failures).toEqual([]);
  const stray: Hold = { reason: 'plugin', plugin: 'fast', command: null, detail: '', sinceUs: 1 };
  const batch = world.store.batch();
  batch.put('holds', Buffer.from(holdKey(stray)), encodeHold(stray));
  world.store.commit(batch);
  expect((await selfcheck(options)).failures).toMatchObject([{ invariant: 'holds_have_jobs' }]);
});

it('what is held too long fails with the reason, some at a time, while others are handed out in between', () => {
  const jobs = 5 * heldMovesPerTurnMax;
  const world = heldWorld(absent, jobs);
  settle(world);
  world.nowUs += heldMs * 1000 - 1_000_000;
  settle(world);
  expect(world.store.count('attempts')).toBe(0);
  world.nowUs += 1_000_000;
  world.submit('fast', 'handle', {});
  world.tell({ kind: 'prune' });
  const counts: number[] = [];
  const failed = () => readCounts(world.store).find(counts => counts.plugin === 'gone')!.counts.failed;
  while (world.step({ mayReturn: false })) counts.push(failed());
  const ends = counts.map((count, i) => count - (counts[i - 1] ?? 0));
  expect([Math.max(...ends), counts.at(-1)]).toEqual([heldMovesPerTurnMax, jobs]);
  expect(jobsOf(world)[0]).toMatchObject({
    attempt: 0,
    lastError: expect.stringMatching(/^held since 20.* and never run: the configuration has no plugin "gone"$/),
  });
  expect(world.runs).toHaveLength(1);
  expect(world.store.count('holds')).toBe(0);
});

it('what is held too long behind other jobs of a paused plugin fails, some at a time', () => {
  const jobs = heldMovesPerTurnMax + 10;
  const world = new Simulation(whole, calm, dice(1));
  const target = { kind: 'plugin', name: 'gone', command: null } as const;
  const pause = { ...target, reason: null, by: 'test', untilUs: null, rejects: false };
  world.tell({ kind: 'pause', replyTo: { ask: 0 }, pause });
  world.submit('gone', 'other', {});
  world.submit('gone', 'handle', ...Array.from({ length: jobs }, () => ({})));
  world.reconfigure(halved);
  settle(world);
  world.nowUs += heldMs * 1000;
  world.tell({ kind: 'prune' });
  const failed = () => jobsOf(world).filter(({ status }) => status === 'failed').length;
  world.turn();
  expect(failed()).toBe(heldMovesPerTurnMax);
  settle(world);
  expect([failed(), world.store.count('holds')]).toEqual([jobs, 0]);
  expect(world.queue().lanes.find(lane => lane.plugin === 'gone')).toMatchObject({ queued: 1, held: 1 });
  world.tell({ kind: 'resume', replyTo: { ask: 0 }, target, by: 'test' });
  settle(world);
  expect(world.runs.map(({ id }) => id)).toEqual([world.accepted[0]]);
});

it('a delayed job is held from the time at which it is due, and fails when its hold has lasted long enough', () => {
  const world = new Simulation(whole, calm, dice(1));
  const startMs = world.nowUs / 1000;
  const call = { plugin: 'gone', command: 'handle', payloads: [pack(1)], submittedBy: 'test', event: null };
  for (const delayMs of [1.5 * heldMs, 2 * heldMs])
    world.deliver({ kind: 'submit', replyTo: { ask: 0 }, ...call, options: { delayMs } });
  world.turn();
  world.reconfigure(absent);
  world.turn();
  expect([world.heldJobs(), world.store.count('holds')]).toEqual([[], 0]);
  // Both jobs become due.
  settle(world);
  const waiting = { status: 'queued', attempt: 0 };
  expect(jobsOf(world)).toMatchObject([waiting, waiting]);
  const [held] = world.heldJobs();
  expect(held).toMatchObject({ plugin: 'gone', command: 'handle', jobs: 2 });
  expect(Math.round((held!.sinceUs / 1000 - startMs) / 1000)).toBe((1.5 * heldMs) / 1000);
  world.nowUs = held!.sinceUs + heldMs * 1000;
  settle(world);
  expect(jobsOf(world)).toMatchObject([{ status: 'failed' }, { status: 'failed' }]);
});

it('held jobs leave room in the queue, and are bounded by a limit of their own', () => {
  const world = new Simulation(config([plugin('fast'), plugin('gone')], 2, 4), calm, dice(1));
  world.sealed.add('gone');
  world.tell({ kind: 'holds_changed' });
  world.turn();
  for (let turn = 0; turn < 3; turn++) {
    for (let job = 0; job < 2; job++) world.submit('gone', 'handle', {});
    world.turn();
  }
  expect([world.accepted.length, ...world.refused]).toEqual([4, 'too_many_waiting', 'too_many_waiting']);
  for (let job = 0; job < 3; job++) world.submit('fast', 'handle', {});
  world.turn();
  expect([world.accepted.length, world.refused.at(-1)]).toEqual([6, 'queue_full']);
});

it('calls of a held plugin count as waiting from the turn that accepts them', () => {
  const world = new Simulation(config([plugin('fast'), plugin('gone')], 10, 60), calm, dice(1));
  world.sealed.add('gone');
  world.tell({ kind: 'holds_changed' });
  world.turn();
  const batch = (jobs: number) => world.submit('gone', 'handle', ...Array.from({ length: jobs }, () => ({})));
  batch(50);
  world.submit('fast', 'handle', {});
  world.turn();
  expect([world.accepted.length, ...world.refused]).toEqual([51]);
  for (let message = 0; message < 3; message++) batch(8);
  world.turn();
  expect([world.accepted.length, ...world.refused]).toEqual([61, 'too_many_waiting', 'too_many_waiting']);
  expect(world.queue().lanes.find(lane => lane.plugin === 'gone')).toMatchObject({ queued: 60, held: 60 });
});

it('once its held jobs have failed, a plugin is not refused because the jobs of another wait', () => {
  const waitingMax = 2;
  const bounded = (gone: PluginInstance) => config([gone, plugin('locked')], 10, waitingMax);
  const world = new Simulation(bounded(plugin('gone', {}, two)), calm, dice(1));
  world.submit('gone', 'handle', {});
  world.reconfigure(bounded(plugin('gone', {}, [command('other')])));
  settle(world);
  world.nowUs += heldMs * 1000;
  settle(world);
  expect(jobsOf(world)).toMatchObject([{ status: 'failed' }]);
  world.sealed.add('locked');
  world.tell({ kind: 'holds_changed' });
  for (let job = 0; job < waitingMax; job++) world.submit('locked', 'handle', {});
  world.turn();
  world.submit('gone', 'other', {});
  world.submit('locked', 'handle', {});
  world.turn();
  expect([world.accepted.length, ...world.refused]).toEqual([1 + waitingMax + 1, 'too_many_waiting']);
});

it('a job says that it waits for the disk or the vault, and nothing once a worker has it', () => {
  const world = new Simulation(whole, calm, dice(1));
  world.tell({ kind: 'admit', refusal: 'disk_full' });
  world.turn();
  world.tell({ kind: 'admit', refusal: null });
  world.submit('fast', 'handle', {});
  world.tell({ kind: 'admit', refusal: 'disk_full' });
  world.turn();
  const [id] = world.accepted;
  expect(world.waitsOf(id!)).toMatchObject({ reason: 'disk' });
  world.sealed.add('fast');
  world.tell({ kind: 'holds_changed' });
  expect(world.waitsOf(id!)).toMatchObject({ reason: 'vault', detail: 'the vault does not open' });
  world.sealed.clear();
  world.tell({ kind: 'holds_changed' });
  world.tell({ kind: 'admit', refusal: null });
  world.turn();
  expect(world.held).toHaveLength(1);
  expect(world.waitsOf(id!)).toBeNull();
  world.run();
  expect(world.waitsOf(id!)).toBeNull();
});

it('a vault that does not open holds jobs for as long as it takes, over restarts', () => {
  const world = new Simulation(whole, calm, dice(1));
  world.sealed.add('gone');
  world.start();
  world.submit('gone', 'handle', {});
  world.run();
  world.nowUs += 2 * heldMs * 1000;
  settle(world);
  world.start();
  settle(world);
  expect(jobsOf(world)).toMatchObject([{ status: 'queued', attempt: 0 }]);
  world.sealed.clear();
  world.tell({ kind: 'holds_changed' });
  world.run();
  expect(jobsOf(world)).toMatchObject([{ status: 'succeeded', attempt: 1 }]);
});

it('the queue of a held plugin forgets blocks whose jobs have expired', () => {
  const world = new Simulation(whole, calm, dice(1));
  world.sealed.add('fast');
  world.tell({ kind: 'holds_changed' });
  const call = { plugin: 'fast', command: 'handle', payloads: [pack({})], submittedBy: 'test', event: null };
  const submit = (options?: CallOptions) => {
    world.deliver({ kind: 'submit', replyTo: { ask: 0 }, ...call, ...(options && { options }) });
    world.turn();
  };
  submit();
  for (let n = 0; n < 3_000; n++) submit({ expiresMs: 1_000 });
  submit();
  world.nowUs += 2_000_000;
  world.tell({ kind: 'alarm' });
  settle(world);
  expect(jobsOf(world).filter(({ status }) => status === 'cancelled')).toHaveLength(3_000);
  expect(world.queuedBlocks('fast')).toBeLessThan(1_100);
  world.sealed.clear();
  world.tell({ kind: 'holds_changed' });
  settle(world);
  expect(world.runs.map(({ id }) => id).toSorted()).toEqual([world.accepted[0], world.accepted.at(-1)]);
});

it('a job that was running when the service ended waits until its command says whether it may run again', () => {
  const retrySafe = fc.boolean();
  fc.assert(
    fc.property(retrySafe, fc.integer({ min: 1, max: 3 }), (isSafe, restarts) => {
      const full = config([plugin('gone', {}, [command('handle', { retrySafe: isSafe })])]);
      const world = new Simulation(full, calm, dice(1));
      world.submit('gone', 'handle', {});
      while (world.held.length === 0) world.step();
      world.reconfigure(config([]));
      world.turn();
      for (let time = 0; time < restarts; time++) {
        world.start();
        settle(world);
        expect(jobsOf(world)).toMatchObject([{ status: 'queued', attempt: 0 }]);
      }
      world.reconfigure(full);
      world.run();
      const end = isSafe ? { status: 'succeeded', attempt: 2 } : { status: 'failed', lastError: 'lost while running' };
      expect(jobsOf(world)).toMatchObject([end]);
      expect(world.runs).toHaveLength(isSafe ? 1 : 0);
    }),
    { numRuns: 10 },
  );
});

it('plugins that come and go charge nothing and run nothing twice, whatever is killed meanwhile', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 200 }), (seed, jobs) => {
      const world = new Simulation(whole, { ...calm, reconfigured: 0.3 }, dice(seed));
      for (let job = 0; job < jobs; job++) {
        world.submit('gone', job % 2 === 0 ? 'handle' : 'other', { job });
        if (job % 3 === 0) world.step();
      }
      world.run();
      // Jobs whose plugin was missing when they were submitted were refused; all accepted ones succeed.
      expect(jobsOf(world).every(({ status, attempt }) => status === 'succeeded' && attempt === 1)).toBe(true);
      expect([world.runs.length, world.strays.length]).toEqual([world.accepted.length, 0]);
      expect(world.store.count('holds')).toBe(0);
    }),
    { numRuns: cyclesOf({ deep: 60, quick: 10 }) },
  );
});
