// Determines whether a run has started, which means that plugin code of a job in its tree may have begun.
import { type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { latestAttempt } from '../records/attempts.ts';
import { findBlock } from '../records/block.ts';
import { isHosted } from '../records/job.ts';
import { findOpen, type KeyText, keyText, type OpenBlock } from '../records/open.ts';
import { indexesIn, rangesOf, treeRange } from '../records/tree.ts';

/**
 * Whether `run`, which must be the root of its tree, has started. `open`: the open blocks in memory, which are newer than the stored ones. A
 * run with an unusable open record or block in its tree counts as started.
 */
export function hasStarted(
  reader: Reader,
  setAside: SetAside,
  open: ReadonlyMap<KeyText, OpenBlock>,
  run: JobId,
): boolean {
  for (const entry of reader.scan('tree', treeRange(run))) {
    const key = Buffer.from(entry.key.subarray(jobIdBytes));
    const stored = setAside.read('open', key, () => findOpen(reader, key) ?? null);
    const block = open.get(keyText(key)) ?? stored;
    if (block === undefined) return true;
    // A block without an open record has ended.
    const { plugin } = block ?? setAside.read('blocks', key, () => findBlock(reader, jobId(key, 0))) ?? {};
    if (plugin === undefined) return true;
    if (!isHosted(plugin)) continue;
    for (const index of indexesIn(rangesOf(entry.value))) {
      if (block?.isUnstarted(index)) continue;
      // A job that has ended in this turn has no attempt in the store yet, but `stored` shows it as open.
      if (isStarted(block, index) || isStarted(stored, index) || hasAttempt(reader, jobId(key, index))) return true;
    }
  }
  return false;
}

/** Whether the job is open, and has been dispatched. */
function isStarted(open: OpenBlock | null | undefined, index: number): boolean {
  return open != null && !open.isSettled(index) && !open.isUnstarted(index);
}

/** Whether an attempt of the job has ended. A job that ended without an attempt has a log of attempt 0. */
function hasAttempt(reader: Reader, id: JobId): boolean {
  return (latestAttempt(reader, id)?.number ?? 0) > 0;
}
