// Jobs that end without being sent, or that return to their lanes: how many of them one turn takes.
import { expect, it } from 'vitest';
import { heldMovesPerTurnMax } from '../../../../actors/job/dispatch/dispatch.ts';
import { readCounts } from '../../../../actors/job/records/counts.ts';
import { pack } from '../../../../runtime/packing.ts';
import { calm, command, config, dice, plugin, Simulation } from './simulator.ts';

const plain = plugin('slow');
const program = { ...plain, manifest: { ...plain.manifest, runtime: 'process' as const } };
const fast = config([plugin('fast')]);

/** A world in which `jobs` jobs wait, and whose next frame has `size` of them. */
function busyWorld(size: number, jobs: number): Simulation {
  const world = new Simulation(fast, calm, dice(1));
  world.runUs = 2_000 / size;
  submit(world, 2 * size);
  world.run();
  submit(world, jobs);
  return world;
}

function submit(world: Simulation, jobs: number): void {
  for (let job = 0; job < jobs; job++) world.submit('fast', 'handle', {});
}

/** How many jobs each turn fails, until no turn is due. */
function failuresPerTurn(world: Simulation): number[] {
  const failed = () => readCounts(world.store).find(({ plugin }) => plugin === 'fast')?.counts.failed ?? 0;
  const failures: number[] = [];
  for (let before = failed(); world.isDue; ) {
    world.turn();
    failures.push(failed() - before);
    before = failed();
  }
  return failures;
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

it('a turn fails a limited number of jobs that may not receive their secrets', () => {
  const world = busyWorld(200, 3000);
  world.revoked.add('fast');
  const failures = failuresPerTurn(world);
  expect([Math.max(...failures), sum(failures)]).toEqual([heldMovesPerTurnMax, 3000]);
});

it('a turn fails a limited number of suspects that may not receive their secrets', () => {
  const world = busyWorld(500, 2000);
  world.turn();
  expect(sum(world.held.map(({ frame }) => frame.payloads.length))).toBe(2000);
  world.revoked.add('fast');
  world.kill('main');
  const failures = failuresPerTurn(world);
  expect([Math.max(...failures), sum(failures)]).toEqual([heldMovesPerTurnMax, 2000]);
});

it('a turn charges a limited number of attempts that were lost while their plugin was missing', () => {
  const jobs = 1500;
  const once = [command('handle', { retrySafe: false })];
  const world = new Simulation(config([plugin('fast', { concurrency: { handle: jobs } }, once)]), calm, dice(1));
  for (let job = 0; job < jobs; job++) {
    submit(world, 1);
    world.turn();
  }
  world.reconfigure(config([]));
  world.turn();
  world.start();
  world.turn();
  world.reconfigure(config([plugin('fast', {}, once)]));
  const failures = failuresPerTurn(world);
  expect([Math.max(...failures), sum(failures)]).toEqual([heldMovesPerTurnMax, jobs]);
});

it('jobs of one lane that have expired use up the moves of a turn; those of the other lanes end in the next turns', () => {
  const world = new Simulation(config([plugin('fast'), program]), calm, dice(1));
  const ended = () => readCounts(world.store).reduce((jobs, { counts }) => jobs + counts.cancelled, 0);
  for (const [name, jobs] of [
    ['fast', 3000],
    ['slow', 3],
  ] as const) {
    const payloads = Array.from({ length: jobs }, () => pack({}));
    const call = { plugin: name, command: 'handle', submittedBy: 'test', event: null, options: { expiresMs: 1000 } };
    world.deliver({ kind: 'submit', replyTo: { ask: jobs }, payloads, ...call });
  }
  world.tell({ kind: 'admit', refusal: 'disk_full' });
  world.turn();
  world.nowUs += 2_000_000;
  world.tell({ kind: 'admit', refusal: null });
  while (world.isDue) world.turn();
  expect([ended(), world.held]).toEqual([3003, []]);
});
