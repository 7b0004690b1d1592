// Which host gets a frame, and when: the capacity for programs is divided among a few hosts, and some plugins run alone.
import { expect, it, test } from 'vitest';
import { framesIn, freeSlotFor, programSlots } from '../../../../../actors/job/dispatch/host-slot.ts';
import { calm, command, config, dice, plugin, Simulation } from '../simulator.ts';

const program = plugin('program', { manifest: { ...plugin('program').manifest, runtime: 'process' } });
const slow = { pace: { frameUs: Number.POSITIVE_INFINITY } } as Parameters<typeof freeSlotFor>[1];

test.each([
  { places: 1, hosts: [1] },
  { places: 2, hosts: [1, 1] },
  { places: 4, hosts: [1, 1, 1, 1] },
  { places: 6, hosts: [2, 2, 1, 1] },
  { places: 64, hosts: [16, 16, 16, 16] },
])('$places places are those of hosts with $hosts, and all are filled before a frame finds none', row => {
  const slots = programSlots(row.places);
  expect(slots.map(({ threads }) => threads)).toEqual(row.hosts);
  for (let frame = 0; frame < row.places; frame++) freeSlotFor(slots, slow)!.frames.set(frame, null as never);
  expect(freeSlotFor(slots, slow)).toBeUndefined();
  expect(framesIn(slots)).toBe(row.places);
});

it('keeps persistent processes in one host, with places of their own', () => {
  const persistent = { jobsMax: null, ageMs: null };
  const staying = plugin('staying', { manifest: { ...program.manifest, name: 'staying', persistent } });
  const world = new Simulation(config([program, staying]), calm, dice(1));
  for (const name of ['program', 'program', 'staying', 'staying', 'staying']) world.submit(name, 'handle', {});
  world.turn();
  const places = world.held.map(({ frame, slot }) => [frame.instance, slot]);
  expect(places.sort()).toEqual([
    ['program', 'programs-1'],
    ['program', 'programs-2'],
    ['staying', 'persistent'],
    ['staying', 'persistent'],
  ]);
});

it('starts another host only for what runs beside the first', () => {
  const world = new Simulation(config([program]), calm, dice(1));
  for (let round = 0; round < 2; round++) {
    world.submit('program', 'handle', {});
    world.turn();
    expect(world.held.map(({ slot }) => slot)).toEqual(['programs-1']);
    world.run();
  }
  const fresh = new Simulation(config([program]), calm, dice(1));
  for (let n = 0; n < 2; n++) fresh.submit('program', 'handle', {});
  fresh.turn();
  expect(fresh.held.map(({ slot }) => slot)).toEqual(['programs-1', 'programs-2']);
});

it.each([
  { queued: 3, frames: [1, 1, 1] },
  { queued: 6, frames: [1, 1, 1, 1] },
  { queued: 16, frames: [4, 3, 2, 1] },
  { queued: 64, frames: [8, 8, 8, 8] },
])('hands out $queued short programs in frames of $frames: together where there are many', ({ queued, frames }) => {
  const world = new Simulation(config([program]), calm, dice(1));
  world.submit('program', 'handle', {});
  world.run();
  for (let n = 0; n < queued; n++) world.submit('program', 'handle', {});
  world.turn();
  expect(world.held.map(({ frame }) => frame.payloads.length)).toEqual(frames);
});

/** A world with two commands, of which a full frame has 64 jobs. */
function twoCommands(retrySafe = true): Simulation {
  const commands = ['one', 'other'].map(name => command(name, { retrySafe }));
  const world = new Simulation(config([plugin('echo', {}, commands)]), calm, dice(1));
  world.runUs = 2_000 / 64;
  for (const { name } of commands) world.submit('echo', name, ...Array.from({ length: 200 }, () => ({})));
  world.run();
  world.runs.length = 0;
  return world;
}

/** The commands in turn, `jobs` of each in a turn. Returns the numbers of jobs of the frames that hosts have then. */
function submitInTurn(world: Simulation, jobs: number, turns: number): number[] {
  for (let turn = 0; turn < turns; turn++) {
    world.submit('echo', turn % 2 === 0 ? 'one' : 'other', ...Array.from({ length: jobs }, () => ({})));
    world.turn();
  }
  return world.held.map(({ frame }) => frame.payloads.length);
}

it.each([
  { jobs: 64, frames: 4, what: 'two full frames' },
  { jobs: 32, frames: 8, what: 'four that are half full' },
  { jobs: 2, frames: 32, what: 'sixteen small ones' },
  { jobs: 1, frames: 32, what: 'sixteen with one job' },
])('a place has up to $what', ({ jobs, frames }) => {
  const world = twoCommands();
  expect(submitInTurn(world, jobs, 40)).toEqual(Array(frames).fill(jobs));
  world.run();
  expect(world.runs).toHaveLength(40 * jobs);
});

it('starts the jobs of a plugin in the order of acceptance, whatever their commands', () => {
  const world = twoCommands();
  submitInTurn(world, 2, 40);
  const ids = world.held.map(({ frame }) => Buffer.from(frame.ids).toString('hex')).join('');
  expect(ids.match(/.{32}/g)!.toSorted().join('')).toBe(ids);
  expect(new Set(world.held.map(({ frame }) => frame.command)).size).toBe(2);
});

it('a place has no further frame with a job that must not run twice', () => {
  expect(submitInTurn(twoCommands(false), 1, 40)).toEqual([1, 1, 1, 1]);
});

it('first runs the jobs again that were probably running when their host died', () => {
  const world = twoCommands();
  submitInTurn(world, 1, 40);
  const sent = world.held.map(({ frame }) => Buffer.from(frame.ids).toString('hex'));
  world.kill('main');
  world.turn();
  const again = world.held.filter(({ slot }) => slot.startsWith('quarantine-'));
  expect(again.map(({ frame }) => Buffer.from(frame.ids).toString('hex')).toSorted()).toEqual(sent.slice(0, 2));
});

it('does not charge a job that waited behind many frames when the service died', () => {
  const world = twoCommands();
  submitInTurn(world, 1, 40);
  world.start();
  world.run();
  const attempts = world.runs.map(({ attempt }) => attempt);
  expect(attempts.toSorted()).toEqual([...Array(36).fill(1), ...Array(4).fill(2)]);
});

it.each(['removed', 'another plugin'])('runs no two jobs at once of a plugin whose instance is %s now', change => {
  const alone = plugin('alone', { manifest: { ...plugin('alone').manifest, concurrencySafe: false } });
  const world = new Simulation(config([alone, { ...alone, name: 'other' }]), calm, dice(1));
  world.submit('other', 'handle', {});
  world.turn();
  world.reconfigure(config(change === 'removed' ? [alone] : [alone, plugin('other')]));
  world.submit('alone', 'handle', {});
  world.turn();
  expect(world.held.map(({ frame }) => frame.instance)).toEqual(['other']);
  world.run();
  expect(world.runs).toHaveLength(2);
});
