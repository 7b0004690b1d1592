// An unfinished run: its scopes, the fan-outs still being expanded, and how many of its jobs are unsettled.

import type { JobId } from '../../runtime/ids.ts';
import { endNode } from './compile.ts';
import type { Version } from './definition-versions.ts';
import type { FanOut } from './fanout.ts';
import { ArrivalLog } from './records/arrivals.ts';
import type { SegmentOrigin, StoredRun, StoredScope } from './records/run.ts';

/** What is not in `StoredScope` of it does not survive a crash. */
export type Scope = StoredScope & {
  readonly id: number;
  /** The origin that has memory of its own. */
  kept: SegmentOrigin | null;
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
export type TreeCounts = {
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

/** What is not in `StoredRun` of it, nor in its scopes and fan-outs, does not survive a crash. */
export type Run = StoredRun & {
  readonly id: JobId;
  /** The id as text. */
  readonly name: string;
  readonly version: Version;
  readonly tree: TreeCounts;
  /** The job that caused it, for as long as the store cannot say so: until the commit of the turn it begins in. */
  readonly parent: JobId | null;
  readonly scopes: Map<number, Scope>;
  readonly fans: Map<number, FanOut>;
  /** What its own record takes, and that with the records of its scopes. */
  ownBytes: number;
  bytes: number;
  /** What it takes in memory, by estimate; 0 until it is written. */
  weight: number;
  /** The turn in which it was last asked for. */
  usedIn: number;
  persisted: boolean;
  ended: boolean;
};

/** The run in memory. `bytes`: what its record takes; 0: it has none yet. */
export function runOf(
  stored: StoredRun,
  id: JobId,
  version: Version,
  tree: TreeCounts,
  parent: JobId | null,
  bytes: number,
): Run {
  return {
    ...stored,
    id,
    name: idText(id),
    version,
    tree,
    parent,
    scopes: new Map(),
    fans: new Map(),
    ownBytes: bytes,
    bytes,
    weight: 0,
    usedIn: 0,
    persisted: bytes > 0,
    ended: false,
  };
}

/** The scope in memory. `bytes`: what its own record takes. */
export function scopeOf(stored: StoredScope, id: number, isPersisted: boolean, bytes = 0): Scope {
  return {
    ...stored,
    id,
    kept: null,
    fresh: nothingFresh,
    recordBytes: bytes,
    persisted: isPersisted,
    dirty: !isPersisted,
    lastEqualContext: null,
  };
}

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
  readonly status: 'succeeded' | 'failed' | 'dead' | 'cancelled';
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
  const stored: StoredScope = {
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
    merged: null,
    stored: 0,
    inlineArrivals: new ArrivalLog(),
  };
  const scope = scopeOf(stored, run.scopesMade++, false);
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
