// What a run needs of the one that it runs again: from its start on nothing of that is pruned, until it has ended.
import { formatId, indexOf, type JobId, jobIdBytes } from '../../runtime/ids.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import { latestAttempt } from '../job/records/attempts.ts';
import { findBlock } from '../job/records/block.ts';
import { readDefinitionHash } from '../job/records/job.ts';
import type { DefinitionVersions, Version } from './definition-versions.ts';
import { indexOfRoot, removeNeed, writeNeed } from './records/reuse.ts';
import { neededRoots } from './reuse-roots.ts';

/** Entries of the index of a run that has ended which one turn removes. */
const removedPerTurnMax = 4096;

/** The definition of a run that is to be run again; or what is missing. */
export function definitionOf(
  reader: Reader,
  versions: DefinitionVersions,
  of: JobId,
): Version | { readonly missing: string } {
  const name = formatId(of);
  const attempt = latestAttempt(reader, of)?.attempt;
  const block = findBlock(reader, of);
  if (!block || indexOf(of) >= block.count || !attempt?.final) return { missing: `the run ${name}` };
  const hash = readDefinitionHash(attempt.stored);
  if (!hash) return { missing: `the hash of the definition of the run ${name}` };
  return versions.find(hash, reader) ?? { missing: `the definition of the run ${name}` };
}

export class ReuseSources {
  readonly #reader: Reader;
  /** Roots that have ended, whose index goes. */
  #over: JobId[] = [];
  /** Those of this turn: what they wrote in it cannot be read yet. */
  #ended: JobId[] = [];

  constructor(reader: Reader) {
    this.#reader = reader;
    for (const root of rootsWithIndex(reader)) if (!reader.get('runs', root)) this.#over.push(root);
  }

  /** The run begins. */
  begin(batch: Batch, root: JobId, of: JobId): void {
    const needed = neededRoots(this.#reader, of);
    for (const each of needed) writeNeed(batch, each, root);
    batch.put('reuse_index', root, pack(needed));
  }

  /** The run is over. */
  end(root: JobId): void {
    this.#ended.push(root);
  }

  /** At the end of a turn. True: another one must follow. */
  sweep(batch: Batch): boolean {
    let left = removedPerTurnMax;
    while (left > 0 && this.#over.length > 0) left -= this.#remove(batch, this.#over[0]!, left);
    this.#over.push(...this.#ended.splice(0));
    return this.#over.length > 0;
  }

  /** The entries first, and then what is needed. */
  #remove(batch: Batch, root: JobId, limit: number): number {
    const keys = Array.from(this.#reader.keys('reuse_index', { ...indexOfRoot(root), limit }), key => Buffer.from(key));
    for (const key of keys) if (key.length > jobIdBytes) batch.remove('reuse_index', key);
    if (keys.length === limit) return limit;
    const needed = this.#reader.get('reuse_index', root);
    for (const each of needed ? unpack<Uint8Array[]>(needed) : []) removeNeed(batch, each, root);
    batch.remove('reuse_index', root);
    this.#over.shift();
    return keys.length + 1;
  }
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
