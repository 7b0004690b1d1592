// An unfinished run: its scopes, the fan-outs still being expanded, and how many of its jobs are unsettled.
// What is not in record.ts of it does not survive a crash.

import type { JobId } from '../../runtime/ids.ts';
import type { Unsuccessful } from '../job/records/job.ts';
import type { MergedValues } from './baggage.ts';
import { endNode } from './compile.ts';
import type { Version } from './definition-versions.ts';
import type { FanOut } from './fanout.ts';
import { ArrivalLog } from './records/arrivals.ts';

/** For a run that a `call` step started: where the token goes on when it is over, and with what baggage. */
export type CallSite = {
  readonly run: JobId;
  readonly node: number;
  readonly scope: number;
  readonly path: readonly number[];
  readonly context: Uint8Array;
};

/** Where the tokens of a segment come from: the job that caused them (null: the run itself) and its context. */
export type SegmentOrigin = { readonly cause: JobId | null; readonly context: Uint8Array };

/** One instance of a sequence with joins, between two of them. */
export type Scope = {
  readonly id: number;
  readonly sequence: number;
  /** The scope that its last join goes on in, and the path there; -1 for the top one. */
  readonly parent: number;
  readonly path: readonly number[];
  /** How many joins of the sequence have run. */
  position: number;
  /** Tokens that have not come to the next join: unsettled jobs, fan-outs being expanded, and inner scopes. */
  live: number;
  arrived: number;
  failed: number;
  /** What the results of the next join take so far. */
  bytes: number;
  /** Too many for a run's result: they are left out. */
  overflown: boolean;
  /** The most jobs that a token of it has crossed. */
  depth: number;
  /** The start of the segment, or the fork in it, or the only token there is. */
  origin: SegmentOrigin;
  /** The origin that has memory of its own. */
  kept: SegmentOrigin | null;
  merged: MergedValues | null;
  /** Arrivals: as many values in the store, and a rest that is kept in the record. */
  stored: number;
  inlineArrivals: ArrivalLog;
  /** Values written in this turn: no read shows them before its commit. */
  fresh: { readonly turn: number; readonly values: readonly Uint8Array[] };
  /** What its own record takes; 0 of the top one, which lies in that of the run. */
  recordBytes: number;
  persisted: boolean;
  dirty: boolean;
  /** The context that was compared last, and is that of the origin. */
  lastEqualContext: Uint8Array | null;
};

/** The tree below a root. */
export type Tree = {
  readonly root: JobId;
  /** Descendants that were made; -1: not counted since the start. */
  made: number;
  /** Open runs, and emissions that wait to start some. */
  open: number;
  /** Its descendants are on disk. */
  isKept: boolean;
  /** How many are open is on disk: more than one. */
  isShared: boolean;
  isDirty: boolean;
  /** Runs of it that are in memory. */
  loaded: number;
};

export type Run = {
  readonly id: JobId;
  /** The id as text. */
  readonly name: string;
  readonly version: Version;
  readonly createdUs: number;
  readonly submittedBy: string;
  /** The root of its tree when that is another job. */
  readonly root: JobId | null;
  readonly tree: Tree;
  readonly hooked: boolean;
  /** The job that caused it, for as long as the store cannot say so: until the commit of the turn it begins in. */
  readonly parent: JobId | null;
  readonly outer: CallSite | null;
  /** Set: nothing new starts, and it ends when its jobs have settled. */
  failure: string | null;
  /** Created and unsettled. */
  jobs: number;
  /** Jobs inside it that have settled, those of called runs that are over too. */
  settled: number;
  readonly unsuccessful: Unsuccessful;
  readonly scopes: Map<number, Scope>;
  scopesMade: number;
  readonly fans: Map<number, FanOut>;
  fansMade: number;
  /** What its own record takes, and that with the records of its scopes. */
  ownBytes: number;
  bytes: number;
  /** The turn in which it was last asked for. */
  usedIn: number;
  persisted: boolean;
  ended: boolean;
};

/** What is needed to end a run, even one that never began. */
export type FinishedRun = Pick<
  Run,
  'id' | 'submittedBy' | 'createdUs' | 'outer' | 'root' | 'hooked' | 'unsuccessful'
> & {
  /** Of its pipeline. */
  readonly name: string;
  readonly depth: number;
  /** Jobs inside it that have settled. */
  readonly inside: number;
};

/** `result` is null where it failed, `error` empty where it succeeded; `dead`: it never began. */
export type RunEnd = {
  readonly status: 'succeeded' | 'failed' | 'dead';
  readonly result: Uint8Array;
  readonly error: string;
  readonly logs: Uint8Array | null;
};

const nothingFresh = { turn: -1, values: [] } as const;

export function openScope(
  run: Run,
  sequence: number,
  parent: number,
  path: readonly number[],
  origin: SegmentOrigin,
): Scope {
  const scope: Scope = {
    id: run.scopesMade++,
    sequence,
    parent,
    path,
    position: 0,
    live: 1,
    arrived: 0,
    failed: 0,
    bytes: 0,
    overflown: false,
    depth: 0,
    origin,
    kept: null,
    merged: null,
    stored: 0,
    inlineArrivals: new ArrivalLog(),
    fresh: nothingFresh,
    recordBytes: 0,
    persisted: false,
    dirty: true,
    lastEqualContext: null,
  };
  run.scopes.set(scope.id, scope);
  return scope;
}

/** Moves the scope behind its next join, where one token goes on. */
export function advanceScope(scope: Scope, origin: SegmentOrigin): void {
  scope.position++;
  scope.live = 1;
  scope.arrived = 0;
  scope.failed = 0;
  scope.bytes = 0;
  scope.overflown = false;
  scope.origin = origin;
  scope.merged = null;
  scope.stored = 0;
  scope.inlineArrivals = new ArrivalLog();
  scope.fresh = nothingFresh;
  scope.lastEqualContext = null;
  scope.dirty = true;
}

/** The node that gathers the tokens of the scope. */
export function joinNode(run: Run, scope: Scope): number {
  const { sequences } = run.version.compiled;
  return sequences[scope.sequence]!.joins[scope.position] ?? endNode;
}

/** The id as a key of maps. */
export function idText(id: JobId): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('latin1');
}
