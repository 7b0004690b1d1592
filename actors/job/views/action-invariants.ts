// Invariants of actions over many jobs. An open action has a record in `actions`, and its own job is open. It has handled no more jobs than
// its limit allows, and no job that was accepted after its filter was evaluated (`Moment`).
import { blockOf, formatId, indexOf, jobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { decodeAction, takenBy } from '../records/action.ts';
import { headgatePlugin } from '../records/job.ts';
import { findOpen, keyText, OpenBlock } from '../records/open.ts';
import type { Invariant } from './invariant.ts';

export function actionInvariants(reader: Reader): readonly Invariant[] {
  return [
    { name: 'open_actions_go_on', table: 'open', wrong: actionGoesOn },
    { name: 'actions_are_open', table: 'actions', wrong: actionIsOpen },
    { name: 'actions_take_what_matched', table: 'actions', wrong: takesWhatMatched },
  ];

  function actionGoesOn(key: Uint8Array, value: Uint8Array): string | null {
    const { plugin } = OpenBlock.decode(keyText(key), value);
    if (plugin !== headgatePlugin) return null;
    const id = jobId(Buffer.from(key), 0);
    return reader.get('actions', id) ? null : `the action ${formatId(id)} is running, but has no record in actions`;
  }

  function actionIsOpen(id: Uint8Array): string | null {
    const open = findOpen(reader, blockOf(id));
    const isOpen = open?.plugin === headgatePlugin && !open.isSettled(indexOf(id));
    return isOpen ? null : `the action ${formatId(id)} has a record in actions, but its job is not open`;
  }

  function takesWhatMatched(id: Uint8Array, value: Uint8Array): string | null {
    const { plan, progress } = decodeAction(value);
    const taken = takenBy(progress);
    if (plan.limit !== null && taken > plan.limit)
      return `the action ${formatId(id)} has taken ${taken} jobs; its limit is ${plan.limit}`;
    if ((progress.cursor === null) !== (taken === 0))
      return `the action ${formatId(id)} has taken ${taken} jobs, but ${taken === 0 ? 'has a' : 'has no'} cursor`;
    if (!plan.backfill && progress.cursor && Buffer.compare(progress.cursor, plan.moment.block) >= 0)
      return `the action ${formatId(id)} has taken a job that was accepted after it`;
    return null;
  }
}
