// Plugins that end their hosts: who is charged, who runs apart, and for how long.
import { expect, it } from 'vitest';
import { quarantineHostsMax } from '../../../../actors/job/dispatch/host-slot.ts';
import { endedHostsMax, isolationMs } from '../../../../actors/job/dispatch/quarantine.ts';
import { findJob } from '../../../../actors/job/views/jobs.ts';
import type { PluginInstance } from '../../../../config/config.ts';
import { parseId } from '../../../../runtime/ids.ts';
import { cyclesOf } from '../../../support/deep.ts';
import { fc } from '../../../support/seed.ts';
import { calm, config, dice, plugin, Simulation } from './simulator.ts';

const once = { retry: { attemptsMax: 1, backoffBaseMs: 1, backoffMaxMs: 1 } };
const process = (name: string) => plugin(name, { manifest: { ...plugin(name).manifest, runtime: 'process' } });
const plugins = [plugin('good'), plugin('other'), process('program'), plugin('killer', once), plugin('killer2', once)];
const settings = config(plugins);

function start(instances: readonly PluginInstance[] = plugins): Simulation {
  return new Simulation(config(instances), calm, dice(1));
}

/** The frames that hosts hold, as plugin and slot. */
function places({ held }: Simulation): string[] {
  return held.map(({ frame, slot }) => `${frame.instance} ${slot}`);
}

function statusOf({ store }: Simulation, id: string): string {
  const { status, attempt } = findJob(store, parseId(id)!)!;
  return `${status} ${attempt}`;
}

/** Isolates the plugin by jobs that each end a host in which they run alone. */
function isolate(world: Simulation, name = 'killer'): void {
  for (let death = 0; death < endedHostsMax; death++) {
    world.submit(name, 'handle', {});
    world.run();
  }
}

it('charges nobody but plugins that end hosts, whatever else runs beside them', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 150 }), (seed, jobs) => {
      const random = dice(seed);
      const world = new Simulation(settings, calm, random);
      const owners: string[] = [];
      for (let job = 0; job < jobs; job++) {
        owners.push(plugins[Math.floor(random() * plugins.length)]!.name);
        world.submit(owners.at(-1)!, 'handle', { job });
        while (random() < 0.3 && world.step());
      }
      world.run();
      expect(world.accepted).toHaveLength(jobs);
      const expected = owners.map(name => (name.startsWith('killer') ? 'failed 1' : 'succeeded 1'));
      expect(world.accepted.map(id => statusOf(world, id))).toEqual(expected);
    }),
    { numRuns: cyclesOf({ deep: 50, quick: 10 }) },
  );
});

it('isolates a plugin after its second death: its jobs run one at a time in a host of their own, the others as before', () => {
  const world = start();
  isolate(world);
  expect(world.killed).toEqual(Array(endedHostsMax).fill('main'));
  for (const name of ['killer', 'killer', 'good', 'killer', 'good', 'program']) world.submit(name, 'handle', {});
  world.turn();
  expect(places(world).sort()).toEqual(['good main', 'good main', 'killer isolation', 'program programs-1']);
  world.run();
  expect(world.killed.slice(endedHostsMax)).toEqual(['isolation', 'isolation', 'isolation']);
});

it('two plugins that are isolated take turns', () => {
  const world = start();
  for (const name of ['killer', 'killer2']) isolate(world, name);
  for (const name of ['killer', 'killer', 'killer2', 'killer2']) world.submit(name, 'handle', {});
  const order: string[] = [];
  while (world.step()) order.push(...places(world));
  const turns = order.filter((place, at) => place !== order[at - 1]);
  expect(new Set(turns)).toEqual(new Set(['killer isolation', 'killer2 isolation']));
  expect(turns).toHaveLength(4);
});

it('an isolation ends when no job has ended a host for so long; each that does makes it longer', () => {
  const world = start();
  isolate(world);
  const placeOfNext = () => {
    world.submit('killer', 'handle', {});
    world.turn();
    return places(world).join();
  };
  for (let half = 0; half < 4; half++) {
    world.nowUs += isolationMs * 500;
    expect(placeOfNext()).toBe('killer isolation');
    world.run();
  }
  world.nowUs += isolationMs * 1000;
  expect(placeOfNext()).toBe('killer main');
  // After the isolation, a single further host that the plugin ends isolates it again.
  world.run();
  expect(placeOfNext()).toBe('killer isolation');
});

it('a reload ends it at once', () => {
  const world = start();
  isolate(world);
  world.reconfigure(settings);
  world.submit('killer', 'handle', {});
  world.turn();
  expect(places(world)).toEqual(['killer main']);
});

it('tries those that were running side by side, the first of each frame before the rest', () => {
  const world = start([plugin('good'), plugin('killer', once)]);
  // Quick jobs make later frames larger.
  for (let round = 0; round < 3; round++) {
    for (let job = 0; job < 40; job++) world.submit('good', 'handle', {});
    world.run();
  }
  for (let job = 0; job < 40; job++) world.submit('good', 'handle', {});
  world.submit('killer', 'handle', {});
  world.turn();
  expect(world.held.map(({ slot }) => slot)).toEqual(['main', 'main']);
  expect(world.held.map(({ frame }) => frame.payloads.length).sort()).toEqual([1, 40]);
  world.kill('main');
  world.turn();
  const tried = world.held.find(({ frame }) => frame.instance === 'killer')!.slot;
  expect(places(world).sort()).toEqual([expect.stringMatching(/^good quarantine/), `killer ${tried}`]);
  world.run();
  expect(world.killed).toEqual(['main', tried]);
});

it('a suspect that takes long keeps no other from being tried', () => {
  const world = start();
  for (const name of ['good', 'killer']) world.submit(name, 'handle', {});
  world.turn();
  world.kill('main');
  world.turn();
  const [slow, killer] = ['good', 'killer'].map(name => world.held.find(({ frame }) => frame.instance === name)!);
  expect(new Set([slow!.slot, killer!.slot])).toEqual(new Set(['quarantine-1', 'quarantine-2']));
  world.kill(killer!.slot);
  world.turn();
  expect(world.held).toContain(slow);
  expect(statusOf(world, world.accepted[1]!)).toBe('failed 1');
});

it('has no more quarantines than there may be, however many workers there are', () => {
  const workersMax = 3 * quarantineHostsMax;
  const many = { ...settings, service: { ...settings.service, workersMax } };
  const world = new Simulation(many, calm, dice(1));
  for (let job = 0; job < workersMax; job++) world.submit('good', 'handle', {});
  world.turn();
  expect(world.held).toHaveLength(workersMax);
  world.kill('main');
  world.turn();
  expect(places(world)).toEqual(Array.from({ length: quarantineHostsMax }, (_, n) => `good quarantine-${n + 1}`));
  world.run();
  for (const id of world.accepted) expect(statusOf(world, id)).toBe('succeeded 1');
});
