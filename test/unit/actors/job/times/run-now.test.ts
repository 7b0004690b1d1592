// The order to run a job now, while a start still reads blocks.
import { expect, it } from 'vitest';
import type { RunNow } from '../../../../../actors/job/times/time-protocol.ts';
import { openMemoryStore } from '../../../../support/memory-store.ts';
import { bareJobActor } from '../bare-job-actor.ts';

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
