// Keeps the jobs of an original run for its rerun `from: failed`: retention does not remove them until the rerun has ended.
import { blockOf, formatId, indexOf, type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { readable, type SetAside } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { latestAttempt } from '../../job/records/attempts.ts';
import { findBlock } from '../../job/records/block.ts';
import { readDefinitionHash } from '../../job/records/job.ts';
import { type KeyText, keyText, OpenBlock } from '../../job/records/open.ts';
import type { DefinitionVersions, Version } from '../definition/definition-versions.ts';
import { indexOfRoot, readLostJob, removeNeed, writeNeed } from '../records/reuse.ts';
import { neededRoots } from '../views/reuse-roots.ts';

/** One turn removes at most this many index entries of ended reruns. */
const removedPerTurnMax = 4096;

/** The definition with which a run began, for its rerun; or why the run cannot be rerun `from: failed`. */
export function definitionOf(
  reader: Reader,
  versions: DefinitionVersions,
  of: JobId,
): Version | { readonly missing: string } {
  const name = formatId(of);
  const attempt = latestAttempt(reader, of)?.attempt;
  const block = findBlock(reader, of);
  if (!block || indexOf(of) >= block.count || !attempt?.final)
    return { missing: `the run ${name} is no longer stored` };
  const lost = readLostJob(reader, of);
  if (lost) return { missing: `the job ${formatId(lost)}, which the run ${name} made or reused, is no longer stored` };
  const hash = readDefinitionHash(attempt.stored);
  if (!hash)
    return { missing: `the run ${name} has no definition: it never began, or an earlier version of headgate ran it` };
  return versions.find(hash, reader) ?? { missing: `the definition of the run ${name} is no longer stored` };
}

export class ReuseSources {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  /** By the name of a rerun: the unfinished index of its original run's jobs. It is kept here, because the rerun may be dropped from memory. */
  readonly indexing = new Map<KeyText, Sliced<string | null>>();
  /** Ended reruns whose index is being removed. */
  #swept: JobId[] = [];
  /** Reruns that ended in this turn. The next turn can read the index entries that this turn has written for them. */
  #ended: JobId[] = [];

  constructor(reader: Reader, setAside: SetAside) {
    this.#reader = reader;
    this.#setAside = setAside;
    for (const root of rootsWithIndex(reader)) if (hasEnded(reader, root)) this.#swept.push(root);
  }

  /** Called when a rerun is accepted: keeps the trees that the rerun needs. */
  begin(batch: Batch, root: JobId, of: JobId): void {
    const needed = neededRoots(this.#reader, of);
    for (const each of needed) writeNeed(batch, each, root);
    batch.put('reuse_index', root, pack(needed));
  }

  /** Called when a rerun has ended: its index can be removed. */
  end(root: JobId): void {
    this.indexing.delete(keyText(root));
    this.#ended.push(root);
  }

  /** Removes some index entries of ended reruns. Must be called at the end of a turn. True: another turn must follow. */
  sweep(batch: Batch): boolean {
    let left = removedPerTurnMax;
    while (left > 0 && this.#swept.length > 0) left -= this.#remove(batch, this.#swept[0]!, left);
    this.#swept.push(...this.#ended.splice(0));
    return this.#swept.length > 0;
  }

  /**
   * Removes up to `limit` entries of the ended root's index and, after the last of them, the records of the needed roots. Returns how much
   * of the limit was used.
   */
  #remove(batch: Batch, root: JobId, limit: number): number {
    const keys = Array.from(this.#reader.keys('reuse_index', { ...indexOfRoot(root), limit }), key => Buffer.from(key));
    for (const key of keys) if (key.length > jobIdBytes) batch.remove('reuse_index', key);
    if (keys.length === limit) return limit;
    this.#swept.shift();
    const value = this.#reader.get('reuse_index', root);
    const needed = value ? this.#setAside.read('reuse_index', root, () => unpack<Uint8Array[]>(value)) : [];
    if (needed !== undefined) {
      for (const each of needed) removeNeed(batch, each, root);
      batch.remove('reuse_index', root);
    }
    return keys.length + 1;
  }
}

/** Whether the rerun has ended. A delayed rerun has not ended, although it has no record in `runs` until it begins. */
function hasEnded(reader: Reader, root: JobId): boolean {
  const bytes = reader.get('open', blockOf(root));
  if (!bytes) return true;
  // If the record is unusable, the ledger sets it aside, and the rerun stays unsettled: it has not ended.
  const open = readable(() => OpenBlock.decode(keyText(blockOf(root)), bytes));
  return open?.isSettled(indexOf(root)) === true;
}

function* rootsWithIndex(reader: Reader): Iterable<JobId> {
  let from: Uint8Array | undefined;
  for (;;) {
    const [key] = reader.keys('reuse_index', { ...(from && { from }), limit: 1 });
    if (!key) return;
    const root = Buffer.from(key.subarray(0, jobIdBytes));
    yield root;
    from = indexOfRoot(root).to;
  }
}
