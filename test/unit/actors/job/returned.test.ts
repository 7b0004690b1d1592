// Jobs that a host returns: what the ledger does with them depends on the reason.
import { expect, it } from 'vitest';
import { findJob } from '../../../../actors/job/views/jobs.ts';
import type { ReturnReason } from '../../../../runtime/host/wire/plugin-host.ts';
import { parseId } from '../../../../runtime/ids.ts';
import { calm, command, config, dice, plugin, Simulation } from './simulator.ts';

const world = () =>
  new Simulation(
    config([plugin('fast'), plugin('careful', {}, [command('handle', { retrySafe: false })])]),
    calm,
    dice(1),
  );

/** The host returns all jobs of the frame that was sent last. Returns their number. */
function giveBack(world: Simulation, reason: ReturnReason): number {
  const { frame, slot } = world.held.pop()!;
  const tasks = frame.payloads.map((_, task) => task);
  world.tell({ kind: 'returned', slot, frameId: frame.frameId, tasks, reason });
  world.turn();
  return tasks.length;
}

it.each([
  ['crowded', 16],
  ['interrupted', 64],
] as const)('after jobs of a frame of 64 came back %s, the next frame has %i', (reason, next) => {
  const ledger = world();
  ledger.runUs = 2_000 / 64;
  const submit = (jobs: number) => ledger.submit('fast', 'handle', ...Array.from({ length: jobs }, () => ({})));
  submit(200);
  ledger.run();
  submit(64);
  ledger.turn();
  expect(giveBack(ledger, reason)).toBe(64);
  expect(ledger.held[0]!.frame.payloads).toHaveLength(next);
  ledger.run();
  expect(ledger.runs).toHaveLength(264);
});

it.each([
  ['runs again, alone and uncharged', 'fast', { status: 'succeeded', attempt: 1 }],
  ['is charged if it must not run twice', 'careful', { status: 'failed', attempt: 1, lastError: 'lost while running' }],
])('a job that may have begun %s', (_, name, end) => {
  const ledger = world();
  ledger.submit(name, 'handle', {});
  ledger.turn();
  expect(giveBack(ledger, 'begun')).toBe(1);
  expect(ledger.held.map(({ slot }) => slot)).toEqual(name === 'fast' ? ['quarantine-1'] : []);
  ledger.run();
  expect(findJob(ledger.store, parseId(ledger.accepted[0]!)!)).toMatchObject(end);
});
