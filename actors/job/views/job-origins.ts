// Looks up the trees, runs and tags of many jobs, one after another.
import { blockOf, formatId, type JobId } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { JobOrigin, Origins, RunEnding } from '../../hub/protocol.ts';
import { type Block, decodeBlock } from '../records/block.ts';
import { cancelOfJob } from '../records/cancel.ts';
import { keyText } from '../records/open.ts';
import { GroupReader } from './group-reader.ts';
import { findJob } from './jobs.ts';

/** The maximum number of runs for which `JobOrigins` caches the chain of calling runs. */
const runsMax = 1_000;
/** Reading a block of n bytes adds 1 + n / `bytesPerWork` to `work`, the count of lookups. */
const bytesPerWork = 16_384;

/** The origin that the jobs of a group share. `root` null: each job is its own root. */
type OriginPath = Pick<JobOrigin, 'runs' | 'tags'> & { readonly root: string | null };

export class JobOrigins implements Origins {
  #reader: Reader | null = null;
  readonly #runs = new Map<string, readonly string[]>();
  readonly #paths = new GroupReader<OriginPath>(
    id => this.#blockOf(id),
    ({ root, run, options }) => ({
      root: root && formatId(root),
      runs: run ? this.#runsFrom(run.run) : [],
      tags: options?.tags,
    }),
  );
  #work = 0;

  /** Sets the store to read from. Must be called before `find`. */
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
    const place = this.#pathOf(id);
    return place && { ...place, root: place.root ?? formatId(id) };
  }

  ended(id: JobId): RunEnding | null {
    this.#work++;
    const reader = this.#reader;
    return (reader && readable(() => endingOf(reader, id))) ?? null;
  }

  /** The origin that the job shares with its group. Null: the job is not stored, or its block is unusable. */
  #pathOf(id: JobId): OriginPath | null {
    return readable(() => this.#paths.find(id)) ?? null;
  }

  #blockOf(id: JobId): Block | undefined {
    const bytes = this.#reader?.get('blocks', blockOf(id));
    this.#work += 1 + (bytes?.length ?? 0) / bytesPerWork;
    return bytes && decodeBlock(bytes);
  }

  /** The run, then the runs that called it, directly or not. */
  #runsFrom(run: JobId): readonly string[] {
    const name = keyText(run);
    const known = this.#runs.get(name);
    if (known) return known;
    const runs = [formatId(run), ...(this.#pathOf(run)?.runs ?? [])];
    if (this.#runs.size >= runsMax) this.#runs.clear();
    this.#runs.set(name, runs);
    return runs;
  }
}

function endingOf(reader: Reader, id: JobId): RunEnding | null {
  const job = findJob(reader, id);
  if (!job) return null;
  const wasStopped = job.status === 'cancelled' || job.status === 'timed_out';
  const cancel = wasStopped ? cancelOfJob(reader, id) : null;
  return { counts: job.counts, notStarted: cancel?.notStarted ?? null };
}
