// A rerun `from: failed` reuses the jobs that succeeded in the original run: it uses their results and makes no new
// attempts.
//
// Reuse is decided for each token. While a token has passed only reused jobs, its next job is looked up in the original
// run. If that job can be reused, the token continues with its result; otherwise a new job is created. All jobs after a
// new job are new. So are all jobs after a join that the token of a new job has reached, and all jobs of phases.
import { type JobId, jobId } from '../../../runtime/ids.ts';
import type { StoredAttempt } from '../../job/records/attempt.ts';
import { latestAttempt } from '../../job/records/attempts.ts';
import { readDefinitionHash, readTally } from '../../job/records/job.ts';
import { attemptsOfJobs } from '../../job/views/jobs.ts';
import { calledAddress, forkAddress, type IndexedJobs, readGap, readIndexed, splitPath } from '../records/reuse.ts';
import { pathsAround, type Run } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import type { StepPosition } from '../tokens/token.ts';
import { indexed } from './reuse-index.ts';
import { ReusedJobs } from './reused-jobs.ts';

/** The maximum number of neighbouring jobs of the original run whose attempts are read together. */
const neighboursMax = 64;

/** A job of the original run. */
export type OriginalJob = { readonly id: JobId; readonly attempt: StoredAttempt };
/** `count` neighbouring elements of a fan-out. Each reuses one of `jobs`; if `jobs` is empty, each needs a new job. */
export type ElementRange = { readonly count: number; readonly jobs: readonly OriginalJob[] };

type At = Pick<StepPosition, 'scope' | 'node' | 'path'>;

export class Reuse {
  readonly #table: RunTable;
  readonly #reused: ReusedJobs;

  constructor(table: RunTable) {
    this.#table = table;
    this.#reused = new ReusedJobs(table.reader);
  }

  /** The job at this place of the original run, whatever its status. Null: no job is stored there. */
  #find(run: Run, at: At): OriginalJob | null {
    const [before, ordinal] = splitPath(at.path);
    const found = readIndexed(this.#table.reader, run.reuse!.root, forkOf(run, { ...at, path: before }), ordinal);
    return found && this.#jobOf(found);
  }

  /** The job at this place of the original run if it can be reused, else null. */
  findSucceeded(run: Run, at: At): OriginalJob | null {
    const job = this.#find(run, at);
    return job && canReuse(run, at, job.attempt) ? job : null;
  }

  /**
   * The data with which a run that is called at this place reuses the jobs of its counterpart, the run that the original run called here.
   * Null: it called no run here, or it is unknown with which definition that run began.
   */
  calledReuse(run: Run, at: At) {
    const called = this.#find(run, at);
    const hash = called?.attempt.final ? readDefinitionHash(called.attempt.stored) : null;
    if (!called || hash === null) return null;
    const { of, root, address } = run.reuse!;
    const place = { node: at.node, path: at.path, within: pathsAround(run, at.scope) };
    const reuse = { of, root, address: calledAddress(address, place), isIndexed: true, jobs: 0 };
    const rerun = { of: called.id, from: 'failed', reason: null } as const;
    return { version: this.#table.versions.find(hash, this.#table.reader), reuse, rerun };
  }

  /** Looks up the jobs of a fan-out's elements in the original run, from `ordinal` on, at most `countMax`. */
  elementsFrom(run: Run, at: At, ordinal: number, countMax: number): ElementRange {
    const { reader } = this.#table;
    const fork = forkOf(run, at);
    const found = readIndexed(reader, run.reuse!.root, fork, ordinal);
    if (!found) return { count: Math.min(countMax, readGap(reader, run.reuse!.root, fork, ordinal)), jobs: [] };
    const { key, index, count } = found;
    const to = index + Math.min(count, countMax, neighboursMax);
    const endings = attemptsOfJobs(reader, key, index, to);
    const jobs: OriginalJob[] = [];
    let fresh = 0;
    for (let each = index; each < to; each++) {
      const attempt = endings.get(each)?.attempt;
      if (attempt && canReuse(run, at, attempt)) {
        if (fresh > 0) break;
        jobs.push({ id: jobId(key, each), attempt });
      } else {
        if (jobs.length > 0) break;
        fresh++;
      }
    }
    return { count: jobs.length + fresh, jobs };
  }

  /** Records that the run has reused the job. */
  note(run: Run, id: JobId): void {
    run.reuse!.jobs++;
    this.#table.touch(run);
    this.#reused.add(run.reuse!.root, id);
  }

  /** Indexes the jobs of the original run, some in each call. True: the index can be read from the next turn on, or the run has failed. */
  index(run: Run): boolean {
    const { indexing } = this.#table.sources;
    const work = indexing.get(run.name) ?? indexed(this.#table, run.reuse!);
    indexing.set(run.name, work);
    const step = work.next();
    if (!step.done) return false;
    indexing.delete(run.name);
    if (step.value === null) run.reuse!.isIndexed = true;
    else this.#table.fail(run, step.value);
    this.#table.touch(run);
    return true;
  }

  #jobOf({ key, index }: IndexedJobs): OriginalJob | null {
    const id = jobId(key, index);
    const attempt = latestAttempt(this.#table.reader, id)?.attempt;
    return attempt ? { id, attempt } : null;
  }

  /** Records in the store which jobs this turn reused. */
  flush(): void {
    this.#reused.flush(this.#table.batch);
  }
}

/** Whether the job can be reused: it has succeeded. A called run must also have no unsuccessful job inside it, as far as its stored counts show. */
function canReuse(run: Run, { node: number }: At, attempt: StoredAttempt): boolean {
  if (!attempt.final || attempt.status !== 'succeeded') return false;
  const node = run.version.compiled.nodes[number]!;
  if (node.kind !== 'work' || node.step.kind !== 'call') return true;
  const tally = readTally(attempt.stored);
  return tally === null || tally.failed + tally.timed_out + tally.dead + tally.cancelled === 0;
}

function forkOf(run: Run, { scope, node, path }: At): Uint8Array {
  return forkAddress(run.reuse!.address, { node, path, within: pathsAround(run, scope) });
}
