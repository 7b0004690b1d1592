// Open actions: the limit of their number, and who is told of their end.
import { expect, test } from 'vitest';
import type { CancelJob } from '../../../../actors/job/cancel/cancel-protocol.ts';
import type { AwaitJob, StartAction, SubmitReply } from '../../../../actors/job/protocol.ts';
import { type ActionPlan, actionsOpenMax, noSelection } from '../../../../actors/job/records/action.ts';
import { pack } from '../../../../runtime/packing.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';
import { bareJobActor } from './bare-job-actor.ts';

const nowUs = 1_700_000_000_000_000;
const plan: ActionPlan = {
  operation: 'cancel',
  ...{ selection: noSelection, limit: null, matched: 1, by: 'test', searchedUs: null, perSecond: null, reason: null },
  moment: { atUs: nowUs, block: new Uint8Array(12), commitUs: nowUs },
};

function startOf(ask: number): StartAction {
  return { kind: 'start_action', replyTo: { ask }, plan, payload: pack({}) };
}

test('the number of open actions is limited, and a further one is refused', () => {
  const store = openMemoryStore();
  const replies: SubmitReply[] = [];
  const { loop, job } = bareJobActor(
    store,
    () => nowUs,
    value => void replies.push(value as SubmitReply),
  );
  loop.setHandler({
    begin: turn => job.begin(turn),
    receive: (_, message, turn) => job.receive(message as StartAction, turn),
    end: turn => job.close(turn),
  });
  for (let n = 0; n <= actionsOpenMax; n++) loop.deliver('job', startOf(n));
  loop.turn();
  expect(replies.slice(0, -1).map(({ kind }) => kind)).toEqual(Array(actionsOpenMax).fill('accepted'));
  expect(replies.at(-1)).toEqual({ kind: 'refused', refusal: 'too_many_actions' });
});

test('the end of an action is told to the callers that wait for it', () => {
  const replies: unknown[] = [];
  const sent: unknown[] = [];
  const { loop, job } = bareJobActor(
    openMemoryStore(),
    () => nowUs,
    value => void replies.push(value),
    (_, message) => void sent.push(message),
  );
  loop.setHandler({
    begin: turn => job.begin(turn),
    receive: (_, message, turn) => job.receive(message as StartAction, turn),
    end: turn => job.close(turn),
  });
  loop.deliver('job', startOf(1));
  loop.turn();
  const [{ id }] = replies as [Extract<SubmitReply, { kind: 'accepted' }>];
  loop.deliver('job', { kind: 'await_job', id } satisfies AwaitJob);
  loop.turn();
  const cancel: CancelJob = { kind: 'cancel', replyTo: { ask: 2 }, id, by: 'test', reason: null };
  loop.deliver('job', cancel);
  loop.turn();
  expect(sent).toContainEqual({ kind: 'job_settled', id });
});
