// The state that a lane reports: since when its jobs wait. A report costs little, however many jobs wait.
import { expect, test } from 'vitest';
import { decodeBlock } from '../../../../../actors/job/records/block.ts';
import { blockOf, parseId } from '../../../../../runtime/ids.ts';
import { pack } from '../../../../../runtime/packing.ts';
import { calm, config, dice, plugin, Simulation } from '../simulator.ts';

const laneOf = (world: Simulation, name: string) => world.queue().lanes.find(lane => lane.plugin === name)!;

/** Each attempt that runs fails. */
function worldWith(...names: readonly string[]): Simulation {
  const world = new Simulation(config(names.map(name => plugin(name))), { ...calm, error: 1 }, dice(1));
  world.turn();
  return world;
}

/** All jobs of the plugin wait from now on. */
function seal(world: Simulation, name: string): void {
  world.sealed.add(name);
  world.tell({ kind: 'holds_changed' });
  world.turn();
}

test('the question costs the same, however many jobs wait', () => {
  const world = worldWith('held');
  seal(world, 'held');
  world.submit('held', 'handle', {});
  world.turn();
  const { store } = world;
  const { createdUs } = decodeBlock(store.get('blocks', blockOf(parseId(world.accepted[0]!)!))!);
  let reads = 0;
  for (const name of ['get', 'peek', 'scan', 'keys'] as const) {
    const read = store[name] as (...given: unknown[]) => unknown;
    const counted = (...given: unknown[]) => {
      reads++;
      return read.apply(store, given);
    };
    Object.assign(store, { [name]: counted });
  }
  const costs = [1, 1_000].map(jobs => {
    for (let job = 0; job < jobs; job++) {
      world.submit('held', 'handle', {});
      world.turn();
    }
    reads = 0;
    expect(laneOf(world, 'held')).toMatchObject({
      oldestUs: createdUs,
      held: world.accepted.length,
    });
    return reads;
  });
  expect(costs[1]).toBe(costs[0]);
});

test('a lane names its hold, and has none without', () => {
  const world = worldWith('free', 'held');
  seal(world, 'held');
  world.submit('held', 'handle', {});
  world.turn();
  expect(laneOf(world, 'held')).toMatchObject({
    queued: 1,
    hold: { reason: 'vault', detail: 'the vault does not open' },
  });
  expect(laneOf(world, 'free')).toMatchObject({ queued: 0, oldestUs: null, hold: null, breaker: null });
});

test('a delayed job waits since its time to run', () => {
  const world = worldWith('held');
  const runAtUs = world.nowUs + 60_000_000;
  const calls = { plugin: 'held', command: 'handle', payloads: [pack({})], submittedBy: 'test', event: null };
  world.deliver({ kind: 'submit', replyTo: { ask: 1_000 }, ...calls, options: { runAtUs } });
  world.turn();
  expect(laneOf(world, 'held')).toMatchObject({ queued: 0, oldestUs: null });
  seal(world, 'held');
  passUntil(world, runAtUs);
  world.submit('held', 'handle', {});
  world.turn();
  expect(laneOf(world, 'held')).toMatchObject({ queued: 2, oldestUs: runAtUs });
});

test('a job that failed waits since its next attempt was due', () => {
  const world = worldWith('held');
  world.submit('held', 'handle', {});
  while (world.alarmUs === null) world.step();
  const dueUs = world.alarmUs;
  seal(world, 'held');
  passUntil(world, dueUs);
  expect(laneOf(world, 'held')).toMatchObject({ queued: 1, oldestUs: dueUs });
});

function passUntil(world: Simulation, us: number): void {
  while (world.nowUs < us && world.step());
  while (world.isDue || world.alarmUs === us) world.step();
}
