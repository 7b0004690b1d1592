// What the list of jobs is asked, and what it answers.

import { blockOf, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { NumberedAttempt } from '../records/attempts.ts';
import type { Block } from '../records/block.ts';
import type { Status, Tally } from '../records/job.ts';
import { pipelinePlugin } from '../records/job.ts';
import type { OpenBlock } from '../records/open.ts';
import { decodeRetry, isInFlight, type RetryRecord } from '../records/retry.ts';
import { BlockJobs } from './job-view.ts';
import { findJob } from './jobs.ts';

export type JobFilter = {
  readonly plugin: string | null;
  readonly command: string | null;
  readonly status: Status | null;
  /** All of these hold; none: all jobs. */
  readonly within: readonly JobScopeFilter[];
};

/**
 * Jobs of one tree: `root`, the job and all its descendants; `parent`, the jobs that it caused; `run`, the jobs inside a run, those
 * of called runs included, and not those that its events started.
 */
export type JobScopeFilter = { readonly of: 'root' | 'parent' | 'run'; readonly id: JobId };

export type JobRow = {
  readonly id: JobId;
  readonly plugin: string;
  readonly command: string;
  readonly status: Status;
  readonly createdUs: number;
  readonly startedUs: number | null;
  readonly completedUs: number | null;
  readonly attempt: number;
  /** Of a run: see JobView. */
  readonly counts: Tally | null;
};

/** `more`: there are jobs behind the last row. `atLeast`: so many match, and perhaps more. */
export type JobPage = {
  readonly rows: readonly JobRow[];
  readonly total: number;
  readonly more: boolean;
  readonly atLeast: boolean;
  /** Of a search: what had ended up to this time was searched. Null: nothing had ended yet. */
  readonly searchedUs?: number | null;
};

/** So many jobs are counted where no counter and no index knows how many match; then the total says that there are at least so many. */
export const countedMax = 10_000;

export function rowOf(
  reader: Reader,
  block: Block,
  id: JobId,
  ending: NumberedAttempt | undefined,
  status: Status,
): JobRow {
  const last = ending?.attempt;
  // Few run at a time: since when, their own view says.
  const running = status === 'running' ? findJob(reader, id) : undefined;
  return {
    id,
    plugin: block.plugin,
    command: block.command,
    status,
    createdUs: block.createdUs,
    startedUs: running?.startedUs ?? last?.startedUs ?? null,
    completedUs: last?.final ? last.completedUs : null,
    attempt: (ending?.number ?? 0) + (status === 'running' ? 1 : 0),
    counts: block.plugin === pipelinePlugin ? countsOf(reader, block, id, ending) : null,
  };
}

function countsOf(reader: Reader, block: Block, id: JobId, ending: NumberedAttempt | undefined): Tally | null {
  return new BlockJobs(reader, Buffer.from(blockOf(id)), block).view(indexOf(id), ending).counts;
}

/** Whether an unsettled job of the block waits or runs. */
export function stateOf(reader: Reader, key: Uint8Array, open: OpenBlock): (index: number) => 'queued' | 'running' {
  const retries = new Map<number, RetryRecord>();
  if (open.retrying > 0) {
    for (const entry of reader.scan('retries', { from: jobId(key, 0), to: jobId(key, open.count) })) {
      retries.set(indexOf(entry.key), decodeRetry(entry.value));
    }
  }
  return index => (isInFlight(retries.get(index) ?? open.firstAttempt(index)) ? 'running' : 'queued');
}
