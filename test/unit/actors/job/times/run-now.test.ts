// The order to run a job now: while a start still reads blocks, and while the plugin of the job is held.
import { expect, it } from 'vitest';
import { type ActionPlan, noSelection } from '../../../../../actors/job/records/action.ts';
import type { RunNow } from '../../../../../actors/job/times/time-protocol.ts';
import { findJob } from '../../../../../actors/job/views/jobs.ts';
import { parseId } from '../../../../../runtime/ids.ts';
import { pack } from '../../../../../runtime/packing.ts';
import { openMemoryStore } from '../../../../support/memory-store.ts';
import { bareJobActor } from '../bare-job-actor.ts';
import { calm, config, dice, plugin, Simulation } from '../simulator.ts';

it('is refused until all blocks have been read, because the job may wait in one of those that are left', () => {
  const replies: unknown[] = [];
  const { loop, job } = bareJobActor(
    openMemoryStore(),
    () => 1_700_000_000_000_000,
    value => void replies.push(value),
  );
  loop.setHandler({
    begin: turn => job.begin(turn),
    receive: (_, message, turn) => job.receive(message as RunNow, turn),
    end: turn => job.close(turn),
  });
  const ask = () => {
    loop.deliver('job', { kind: 'run_now', replyTo: { ask: 1 }, id: Buffer.alloc(16) } satisfies RunNow);
    loop.turn();
    return replies.at(-1);
  };
  expect(ask()).toEqual({ kind: 'refused', refusal: 'unavailable' });
  loop.deliver('job', { kind: 'load' });
  expect(ask()).toEqual({ kind: 'run_now', wasWaiting: false });
});

it('keeps no block in memory for the jobs of a held plugin', () => {
  const world = new Simulation(config([plugin('held')]), calm, dice(1));
  world.sealed.add('held');
  world.tell({ kind: 'holds_changed' });
  const replyTo = { ask: 0 };
  const calls = { plugin: 'held', command: 'handle', payloads: [pack(1), pack(2)], submittedBy: 'test', event: null };
  for (let block = 0; block < 4; block++) {
    world.deliver({ kind: 'submit', replyTo, ...calls, options: { delayMs: 60_000 } });
    world.turn();
  }
  const ids = world.accepted.map(id => parseId(id)!);
  const isHeld = (jobs: number) => {
    expect(world.queue().lanes).toMatchObject([{ plugin: 'held', queued: jobs, held: jobs }]);
    expect(world.loadedBlocks).toBe(0);
  };
  world.tell({ kind: 'run_now', replyTo, id: ids[0]! });
  world.turn();
  isHeld(1);
  world.tell({ kind: 'reschedule', replyTo, id: ids[2]!, delayMs: 0 });
  world.turn();
  isHeld(2);
  const plan: ActionPlan = {
    operation: 'run_now',
    ...{ selection: noSelection, limit: null, matched: 8, by: 'test', searchedUs: null, perSecond: null, reason: null },
    moment: { atUs: world.nowUs, block: new Uint8Array(12), commitUs: world.nowUs },
  };
  world.tell({ kind: 'start_action', replyTo, plan, payload: pack({}) });
  world.turn();
  const action = parseId(world.accepted.at(-1)!)!;
  world.tell({ kind: 'action_step', replyTo, id: action, after: null, ids: Buffer.concat(ids), isLast: true });
  world.turn();
  isHeld(8);
  world.sealed.clear();
  world.tell({ kind: 'holds_changed' });
  world.run();
  expect(ids.map(id => findJob(world.store, id)!.status)).toEqual(ids.map(() => 'succeeded'));
  expect(world.runs).toHaveLength(8);
});
