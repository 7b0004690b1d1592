// To which tree and runs a job belongs, for callers that look up many in the order of events: neighbours often share a group.
import { type BlockKey, blockOf, formatId, indexOf, isOfBlock, type JobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { JobOrigin, Origins } from '../../hub/protocol.ts';
import { decodeBlock, groupOf } from '../records/block.ts';
import type { Tally } from '../records/job.ts';
import { keyText } from '../records/open.ts';
import { findJob } from './jobs.ts';

/** Runs whose callers are remembered. */
const runsMax = 1_000;
/** Reading this many bytes of a record counts as reading one more record. */
const bytesPerWork = 16_384;

type OriginRange = { readonly block: BlockKey; readonly from: number; readonly to: number; readonly place: OriginPath };
/** `root` null: each job is its own root. */
type OriginPath = { readonly root: string | null; readonly runs: readonly string[] };

export class JobOrigins implements Origins {
  #reader: Reader | null = null;
  readonly #runs = new Map<string, readonly string[]>();
  #last: OriginRange | null = null;
  #work = 0;

  /** Must be called before `find`. */
  open(reader: Reader): void {
    this.#reader = reader;
  }

  get work(): number {
    return this.#work;
  }

  refresh(): void {
    this.#reader?.refresh();
  }

  find(id: JobId): JobOrigin | null {
    const place = this.#placeOf(id);
    return place && { root: place.root ?? formatId(id), runs: place.runs };
  }

  counts(id: JobId): Tally | null {
    this.#work++;
    return (this.#reader && findJob(this.#reader, id)?.counts) ?? null;
  }

  #placeOf(id: JobId): OriginPath | null {
    const index = indexOf(id);
    const known = this.#last;
    if (known && index >= known.from && index < known.to && isOfBlock(id, known.block)) return known.place;
    const bytes = this.#reader?.get('blocks', blockOf(id));
    this.#work += 1 + (bytes?.length ?? 0) / bytesPerWork;
    const block = bytes && decodeBlock(bytes);
    if (!block || index >= block.count) return null;
    const { group, offset, left } = groupOf(block, index);
    const place = { root: group.root && formatId(group.root), runs: group.run ? this.#runsFrom(group.run.run) : [] };
    this.#last = { block: Buffer.from(blockOf(id)), from: index - offset, to: index + left, place };
    return place;
  }

  /** The run, then those that called it. */
  #runsFrom(run: JobId): readonly string[] {
    const name = keyText(run);
    const known = this.#runs.get(name);
    if (known) return known;
    const runs = [formatId(run), ...(this.#placeOf(run)?.runs ?? [])];
    if (this.#runs.size >= runsMax) this.#runs.clear();
    this.#runs.set(name, runs);
    return runs;
  }
}
