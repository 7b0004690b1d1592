// The invariant of cancels: a mark belongs to an unsettled job, and a note to an ended job or to a run in a phase. A detached cancel
// only needs a stored run.
import { blockOf, formatId, indexOf, type JobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { decodeRun } from '../../pipeline/records/run.ts';
import { findBlock } from '../records/block.ts';
import { readCancelKey } from '../records/cancel.ts';
import { findOpen } from '../records/open.ts';
import type { Invariant } from './invariant.ts';

export function cancelInvariants(reader: Reader): readonly Invariant[] {
  return [{ name: 'cancels_have_jobs', table: 'cancels', wrong: cancelHasJob }];

  function cancelHasJob(key: Uint8Array): string | null {
    const { id, kind } = readCancelKey(key);
    if (!findBlock(reader, id)) return `the job ${formatId(id)} has a record in cancels, but does not exist`;
    if (kind === 'detached') return null;
    const isMark = kind === 'mark';
    const open = findOpen(reader, blockOf(id));
    const isOpen = open !== undefined && !open.isSettled(indexOf(id));
    if (isOpen === isMark || (isOpen && isInPhase(id))) return null;
    return `the job ${formatId(id)} ${isOpen ? 'is open, but its cancel is complete' : 'has ended, but its cancel is not complete'}`;
  }

  function isInPhase(id: JobId): boolean {
    const value = reader.get('runs', id);
    return value !== undefined && decodeRun(value).run.phase !== null;
  }
}
