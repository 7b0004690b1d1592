// The filter, rows and pages of the list of jobs.

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
  /** A job must match all of these. Empty: every job matches. */
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
  /** Only of a run; see `JobView`. */
  readonly counts: Tally | null;
};

/** `more`: there are jobs after the last row. `atLeast`: the total is a lower bound. */
export type JobPage = {
  readonly rows: readonly JobRow[];
  readonly total: number;
  readonly more: boolean;
  readonly atLeast: boolean;
  /** Only of a search: the time up to which ended attempts were searched. Null: none had ended yet. */
  readonly searchedUs?: number | null;
};

/** Jobs that are counted one by one where no counter or index has the total. Where more match, the total is a lower bound. */
export const countedMax = 10_000;

export function rowOf(
  reader: Reader,
  block: Block,
  id: JobId,
  ending: NumberedAttempt | undefined,
  status: Status,
): JobRow {
  const last = ending?.attempt;
  // Few jobs run at a time, so their start is read one by one.
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

/** Whether an unsettled job of the block is queued or running. */
export function stateOf(reader: Reader, key: Uint8Array, open: OpenBlock): (index: number) => 'queued' | 'running' {
  const retries = new Map<number, RetryRecord>();
  if (open.retrying > 0) {
    for (const entry of reader.scan('retries', { from: jobId(key, 0), to: jobId(key, open.count) })) {
      retries.set(indexOf(entry.key), decodeRetry(entry.value));
    }
  }
  return index => (isInFlight(retries.get(index) ?? open.firstAttempt(index)) ? 'running' : 'queued');
}
