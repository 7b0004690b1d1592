// The reruns that began in this turn, and the blocks that they need. Retention must not prune these blocks, and cannot find these
// reruns in the store before the commit.
import { blockOf, type JobId } from '../../../runtime/ids.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { neededRoots } from '../../pipeline/views/reuse-roots.ts';
import type { Block } from '../records/block.ts';
import type { Rerun } from '../records/job.ts';
import { type KeyText, keyText } from '../records/open.ts';
import { runsNamedIn, writeRerun } from '../records/reruns.ts';

type NewRerun = { readonly rerun: Rerun; readonly payload: Uint8Array };

export type NeedsBlock = (key: Uint8Array, block: Block) => boolean;

export class NewReruns {
  readonly #begun: NewRerun[] = [];

  /** Writes the record of a rerun, and remembers the rerun until `clear`. `payload`: the stored payload of the rerun. */
  begin(batch: Batch, rerun: Rerun, id: JobId, payload: Uint8Array): void {
    writeRerun(batch, rerun, id, payload);
    this.#begun.push({ rerun, payload });
  }

  /** Returns a function that says whether a rerun of this turn needs a block, which must then not be pruned. */
  needs(reader: Reader): NeedsBlock {
    const blocks = new Set<KeyText>();
    /** The roots of trees whose blocks are all needed: a rerun of this turn may reuse jobs of these trees. */
    const roots = new Set<KeyText>();
    for (const { rerun, payload } of this.#begun) {
      for (const job of [rerun.of, ...runsNamedIn(payload)]) blocks.add(keyText(blockOf(job)));
      if (rerun.from !== 'failed') continue;
      for (const root of neededRoots(reader, rerun.of)) {
        blocks.add(keyText(blockOf(root)));
        roots.add(keyText(root));
      }
    }
    return (key, block) => {
      if (blocks.has(keyText(key))) return true;
      if (roots.size === 0) return false;
      return block.starts.some((_, place) => {
        const { root } = block.group(place);
        return root !== null && roots.has(keyText(root));
      });
    };
  }

  /** Forgets the reruns of this turn. Must be called at the end of the turn. */
  clear(): void {
    this.#begun.length = 0;
  }
}
