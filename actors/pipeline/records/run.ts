// The table of runs that have begun and have not ended. The record of a run contains the top scope of its main part. Each other scope has a
// record of its own.
import type { JobId } from '../../../runtime/ids.ts';
import type { Json } from '../../../runtime/json-value.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import {
  noneUnsuccessful,
  type RunPhase,
  type RunPosition,
  type Tally,
  type TerminalStatus,
  tallyOf,
  type Unsuccessful,
} from '../../job/records/job.ts';
import type { Tags } from '../../job/records/tags.ts';
import { ArrivalLog } from './arrivals.ts';
import type { RunDeadline } from './run-deadline.ts';

/** A value in the context of a token that has arrived, with its keys and the token's path. */
export type MergedValue = { readonly keys: readonly string[]; readonly path: readonly number[]; readonly value: Json };
/**
 * By keys (as JSON): the values in the contexts of arrived tokens. If several tokens have a value under the same keys, the map has the
 * value of the first token in the order of paths.
 */
export type MergedValues = Map<string, MergedValue>;

/** Where a run was called: the step, and the baggage with which the caller's token continues when the run ends. */
export type CallSite = Pick<RunPosition, 'run' | 'node' | 'scope' | 'path'> & { readonly context: Uint8Array };

/** Where a segment's tokens come from: the job that caused them (null: the run itself), and the context with which they began. */
export type SegmentOrigin = { readonly cause: JobId | null; readonly context: Uint8Array };

/** A scope: one pass through a sequence (compile.ts). The joins of the sequence divide the scope into segments. */
export type StoredScope = {
  readonly sequence: number;
  /**
   * `parent`: the surrounding scope, in which a token continues after this scope's last join; -1: this is a top scope. `path`: the path of
   * that token.
   */
  readonly parent: number;
  readonly path: readonly number[];
  /** How many of the sequence's joins have fired. */
  position: number;
  /** The number of tokens on the way to the next join: unsettled jobs, fan-outs, parked tokens, and inner scopes. */
  live: number;
  arrived: number;
  failed: number;
  /** The size of the results that have arrived in this segment so far; 0 if its join collects only counts. */
  bytes: number;
  /** Whether the results exceed the limit and are omitted from the run's result. */
  overflown: boolean;
  /** The length of the longest chain of jobs that led to one of the scope's tokens. */
  depth: number;
  /** Whether all tokens that have arrived or ended in the scope so far have passed only reused jobs. */
  isReused: boolean;
  /**
   * The first failure of a token that had passed a fork with `fail_fast: false`. It takes effect at the next join or end (`failAtJoin` in
   * join.ts). Null: no such token has failed.
   */
  failure: string | null;
  /**
   * The origin of the token after the next join: set at the start of the segment, at its first fork, or when its only token
   * arrives.
   */
  origin: SegmentOrigin;
  merged: MergedValues | null;
  /**
   * `stored`: the number of values in the table `arrivals` that have results of this segment. `inlineArrivals`: the results that
   * this record contains itself.
   */
  stored: number;
  inlineArrivals: ArrivalLog;
};

/** A fan-out that is being expanded, or a parked token. */
export type StoredFan = {
  readonly id: number;
  readonly count: number;
  /** How many elements have been handled; 0 for a parked token, which has no elements. */
  index: number;
  /** The offset of the next element in the packed list; 0 for a parked token. */
  at: number;
};

/** The stored data of a run that is a rerun `from: failed`, or that such a rerun has called, directly or not. */
export type StoredReuse = {
  /** The original run: the run that was rerun as `root`. */
  readonly of: JobId;
  /**
   * The id of the rerun that was requested: this run, or the run that called it, directly or not. The index of the original run's jobs
   * is stored under this id (records/reuse.ts).
   */
  readonly root: JobId;
  /** The address of this run, relative to `root` (records/reuse.ts). */
  readonly address: Uint8Array;
  /** Whether the index of the original run's jobs is complete. */
  isIndexed: boolean;
  /** The number of reused jobs, including those of called runs that have ended. */
  jobs: number;
};

/** The current phase of a run, and how the parts before it ended. */
export type StoredPhase = RunPhase & {
  /** Why the parts before this phase did not succeed. Empty if they succeeded (`status`). */
  readonly error: string;
  /** The errors of phases that have ended, except those that `error` contains. Null: no errors. */
  readonly phaseError: string | null;
  /** When the phase began, in µs. Set only if its time limit was put off; otherwise the start is the deadline minus the limit. */
  readonly beganUs?: number;
  /** The counts at the end of the main part. */
  readonly counts: Tally;
};

/** A job of the main part that did not succeed. */
export type StoredFailure = readonly [job: JobId, node: number, status: TerminalStatus];

export type StoredRun = {
  readonly createdUs: number;
  readonly submittedBy: string;
  /** The root of its tree; null: the run itself. */
  readonly root: JobId | null;
  readonly hooked: boolean;
  readonly outer: CallSite | null;
  /** Why the current part of the run fails; null: it does not fail. A failing part starts no more jobs, and ends when its jobs have settled. */
  failure: string | null;
  /** The number of unsettled jobs. */
  jobs: number;
  scopesMade: number;
  fansMade: number;
  /** The number of settled jobs inside the run, including those of called runs that have ended. */
  settled: number;
  readonly unsuccessful: Unsuccessful;
  readonly reuse: StoredReuse | null;
  /** The tags of its jobs. Undefined: they have none. */
  readonly tags: Tags | undefined;
  /** How many of the settled jobs never started. */
  unstarted: number;
  /** Only if the pipeline has phases: the first jobs of the main part that did not succeed. */
  failures: readonly StoredFailure[];
  /** Null: the run is in its main part. */
  phase: StoredPhase | null;
  /** When the run, or its phase, is stopped. */
  deadlines: readonly RunDeadline[];
};

export const noFailures: readonly StoredFailure[] = [];
export const noDeadlines: readonly RunDeadline[] = [];

function packScope(scope: StoredScope) {
  const packed = [
    scope.sequence,
    scope.parent,
    scope.path,
    scope.position,
    scope.live,
    scope.arrived,
    scope.failed,
    scope.bytes,
    scope.overflown,
    scope.depth,
    scope.origin.cause,
    scope.origin.context,
    scope.merged && [...scope.merged.values()],
    scope.stored,
    scope.inlineArrivals.bytes(),
  ] as const;
  if (scope.failure !== null) return [...packed, scope.isReused, scope.failure] as const;
  return scope.isReused ? ([...packed, true] as const) : packed;
}

function unpackScope(packed: ReturnType<typeof packScope>): StoredScope {
  const [sequence, parent, path, position, live, arrived, failed, bytes, overflown, depth, ...more] = packed;
  const [cause, context, values, stored, rest, isReused = false, failure = null] = more;
  const origin = { cause, context };
  const merged = values && new Map(values.map(value => [JSON.stringify(value.keys), value]));
  const inlineArrivals = new ArrivalLog(rest);
  const counts = { position, live, arrived, failed, bytes, overflown, depth, isReused, failure };
  return { sequence, parent, path, ...counts, origin, merged, stored, inlineArrivals };
}

export function encodeScope(scope: StoredScope): Uint8Array {
  return pack(packScope(scope));
}

export function decodeScope(bytes: Uint8Array): StoredScope {
  return unpackScope(unpack(bytes));
}

function packRun(run: StoredRun, hash: Uint8Array, fans: Iterable<StoredFan>, top: StoredScope) {
  const { outer, unsuccessful, reuse, tags, unstarted, failures, phase, deadlines } = run;
  const { failed, timed_out, dead, cancelled } = unsuccessful;
  const isPlain = unstarted === 0 && failures.length === 0 && phase === null && deadlines.length === 0;
  return [
    hash,
    run.createdUs,
    run.submittedBy,
    run.root,
    run.hooked,
    outer && ([outer.run, outer.node, outer.scope, outer.path, outer.context] as const),
    run.failure,
    run.jobs,
    run.scopesMade,
    run.fansMade,
    Array.from(fans, ({ id, count, index, at }) => [id, count, index, at] as const),
    packScope(top),
    // Absent in records of state format 9.
    run.settled,
    // Null: all succeeded.
    failed + timed_out + dead + cancelled > 0 ? ([failed, timed_out, dead, cancelled] as const) : null,
    // Null: the run cannot reuse jobs.
    reuse && ([reuse.of, reuse.root, reuse.address, reuse.isIndexed, reuse.jobs] as const),
    tags ?? null,
    // Null: all settled jobs had started, there are no failures and no deadlines, and no phase has begun.
    isPlain ? null : ([unstarted, failures, phase, deadlines] as const),
  ] as const;
}

/** The record of a run. `hash`: the hash of its definition. `top`: its top scope. */
export function encodeRun(run: StoredRun, hash: Uint8Array, fans: Iterable<StoredFan>, top: StoredScope): Uint8Array {
  const packed = packRun(run, hash, fans, top);
  // Trailing nulls are omitted.
  return pack(packed.slice(0, packed.findLastIndex(part => part !== null) + 1));
}

export function decodeRun(bytes: Uint8Array) {
  const [hash, createdUs, submittedBy, root, hooked, caller, failure, jobs, scopesMade, fansMade, ...more] =
    unpack<ReturnType<typeof packRun>>(bytes);
  const [packedFans, top, settled = 0, ended, reused, tags, late] = more;
  const outer = caller && { run: caller[0], node: caller[1], scope: caller[2], path: caller[3], context: caller[4] };
  const unsuccessful = ended
    ? // Earlier versions did not count cancelled jobs.
      { failed: ended[0], timed_out: ended[1], dead: ended[2], cancelled: ended[3] ?? 0 }
    : noneUnsuccessful();
  const fans: StoredFan[] = packedFans.map(([id, count, index, at]) => ({ id, count, index, at }));
  const made = { jobs, scopesMade, fansMade, settled, unsuccessful };
  const reuse = reused
    ? { of: reused[0], root: reused[1], address: reused[2], isIndexed: reused[3], jobs: reused[4] }
    : null;
  const [unstarted, failures, phase, deadlines] = late ?? [0, noFailures, null, noDeadlines];
  const rest = { tags: tags ?? undefined, unstarted, failures, phase, deadlines };
  const run: StoredRun = { createdUs, submittedBy, root, hooked, outer, failure, ...made, reuse, ...rest };
  return { hash, run, fans, top: unpackScope(top) };
}

/** The key of a scope in `runs`, and of a fan-out in `lists`: run id (16), number of the scope or fan-out (4). */
export function numberedKey(run: JobId, number: number): Uint8Array {
  const key = Buffer.allocUnsafe(20);
  key.set(run);
  key.writeUInt32BE(number, 16);
  return key;
}

/** The key: run id (16), scope (4), segment of the scope (4), number of the value (4). */
export function arrivalKey(run: JobId, scope: number, position: number, sequence: number): Uint8Array {
  const key = Buffer.allocUnsafe(28);
  key.set(run);
  key.writeUInt32BE(scope, 16);
  key.writeUInt32BE(position, 20);
  key.writeUInt32BE(sequence, 24);
  return key;
}

/**
 * The key of a part of a new payload (`writtenInParts` in payload-with.ts). It has the form of an arrival's key, with a scope number that
 * no run uses. `id`: the number of the token or fan-out.
 */
export function madeKey(run: JobId, id: number, sequence: number): Uint8Array {
  return arrivalKey(run, 2 ** 31 + id, 0, sequence);
}

/**
 * Reads from a stored run whether it is the root of its tree, and the number of jobs inside it. Jobs inside called runs
 * that are still open do not count.
 */
export function readJobsOf(value: Uint8Array): { readonly isRoot: boolean; readonly jobs: number } {
  const { root, jobs, settled } = decodeRun(value).run;
  return { isRoot: root === null, jobs: jobs + settled };
}

/** For counts: the hash of a stored run's definition, the root of its tree, and the number of settled jobs inside it. */
export function readCountsOf(id: JobId, value: Uint8Array) {
  const { hash, run } = decodeRun(value);
  return { hash, root: run.root ?? id, settled: run.settled };
}

/** How the jobs inside a stored run have ended so far, and how many of its jobs are unsettled. */
export function readOpenTally(value: Uint8Array): Tally {
  const { settled, unsuccessful, jobs, reuse } = decodeRun(value).run;
  return { ...tallyOf(settled, unsuccessful, reuse?.jobs), unsettled: jobs };
}
