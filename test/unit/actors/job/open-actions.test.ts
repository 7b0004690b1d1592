// The limit of actions that are open at the same time.
import { expect, test } from 'vitest';
import type { StartAction, SubmitReply } from '../../../../actors/job/protocol.ts';
import { type ActionPlan, actionsOpenMax, noSelection } from '../../../../actors/job/records/action.ts';
import { pack } from '../../../../runtime/packing.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';
import { bareJobActor } from './bare-job-actor.ts';

test('so many actions are open, and a further one is refused', () => {
  const store = openMemoryStore();
  const replies: SubmitReply[] = [];
  const nowUs = 1_700_000_000_000_000;
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
  const plan: ActionPlan = {
    operation: 'cancel',
    ...{ selection: noSelection, limit: null, matched: 1, by: 'test', searchedUs: null, perSecond: null, reason: null },
    moment: { atUs: nowUs, block: new Uint8Array(12), commitUs: nowUs },
  };
  for (let n = 0; n <= actionsOpenMax; n++)
    loop.deliver('job', { kind: 'start_action', replyTo: { ask: n }, plan, payload: pack({}) } satisfies StartAction);
  loop.turn();
  expect(replies.slice(0, -1).map(({ kind }) => kind)).toEqual(Array(actionsOpenMax).fill('accepted'));
  expect(replies.at(-1)).toEqual({ kind: 'refused', refusal: 'too_many_actions' });
});
