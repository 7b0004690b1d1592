// An unfinished run: its scopes, its fan-outs and parked tokens, and how many of its jobs are unsettled.

import { unpinned } from '../../runtime/bytes.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { TerminalStatus } from '../job/records/job.ts';
import { keyText } from '../job/records/open.ts';
import { endNode, type WorkNode } from './definition/compile.ts';
import type { Version } from './definition/definition-versions.ts';
import type { FanOut } from './fanout/fanout.ts';
import { ArrivalLog } from './records/arrivals.ts';
import type { SegmentOrigin, StoredRun, StoredScope } from './records/run.ts';

/** A scope in memory. Only the fields of `StoredScope` survive a crash. */
export type Scope = StoredScope & {
  readonly id: number;
  /** The scope's origin as `keepOrigin` last copied it. Null: not copied yet. */
  kept: SegmentOrigin | null;
  /** The values that the turn with the number `turn` has written to the table `arrivals`. Reads show them only after the commit of that turn. */
  fresh: { readonly turn: number; readonly values: readonly Uint8Array[] };
  /** The size of the scope's own record; 0 until it is written, and for the top scope of the main part, which the run's record contains. */
  recordBytes: number;
  persisted: boolean;
  dirty: boolean;
  /** The token context that was last found equal to the origin's. Tokens that share it need no comparison of bytes. */
  lastEqualContext: Uint8Array | null;
};

/** The counts of the tree below a root. */
export type TreeCounts = {
  readonly root: JobId;
  /** The number of descendants; -1: unknown, to be counted when it is needed. */
  made: number;
  /** The number of open runs plus the number of waiting emissions (descendants.ts). */
  open: number;
  /** Whether `made` is stored. */
  isKept: boolean;
  /** Whether `open` is stored, because it is more than one. */
  isShared: boolean;
  isDirty: boolean;
  /** The number of runs of the tree that are in memory. */
  loaded: number;
};

/** A run in memory. The store has the fields of `StoredRun`, the hash of the version, and the stored fields of the scopes and fan-outs. */
export type Run = StoredRun & {
  readonly id: JobId;
  /** The id as text. */
  readonly name: string;
  readonly version: Version;
  readonly tree: TreeCounts;
  /** The job or run that caused the run. Null: the run is a root, or it was read from the store. */
  readonly parent: JobId | null;
  readonly scopes: Map<number, Scope>;
  /** The fan-outs in the order in which they continue, and the parked tokens. */
  readonly fans: Map<number, FanOut>;
  /** The parked tokens among `fans`. */
  readonly parked: Set<FanOut>;
  /** `ownBytes`: the size of the run's own record. `bytes`: that size plus the sizes of the records of its scopes. */
  ownBytes: number;
  bytes: number;
  /** The run's estimated memory; 0 until the run is written or read for the first time. */
  weight: number;
  /** The number of the last turn that used the run. */
  usedIn: number;
  persisted: boolean;
  ended: boolean;
};

/** The run in memory. `bytes`: the size of its record; 0: the run has no record yet. */
export function runOf(
  stored: StoredRun,
  id: JobId,
  version: Version,
  tree: TreeCounts,
  parent: JobId | null,
  bytes: number,
): Run {
  // The fields are listed, because V8 makes slow objects of literals that spread another object.
  return {
    createdUs: stored.createdUs,
    submittedBy: stored.submittedBy,
    root: stored.root,
    hooked: stored.hooked,
    outer: stored.outer,
    failure: stored.failure,
    jobs: stored.jobs,
    scopesMade: stored.scopesMade,
    fansMade: stored.fansMade,
    settled: stored.settled,
    unsuccessful: stored.unsuccessful,
    reuse: stored.reuse,
    tags: stored.tags,
    unstarted: stored.unstarted,
    failures: stored.failures,
    phase: stored.phase,
    deadlines: stored.deadlines,
    id,
    name: keyText(id),
    version,
    tree,
    parent,
    scopes: new Map(),
    fans: new Map(),
    parked: new Set(),
    ownBytes: bytes,
    bytes,
    weight: 0,
    usedIn: 0,
    persisted: bytes > 0,
    ended: false,
  };
}

/** The scope in memory. `bytes`: the size of its own record. */
export function scopeOf(stored: StoredScope, id: number, isPersisted: boolean, bytes = 0): Scope {
  return {
    sequence: stored.sequence,
    parent: stored.parent,
    path: stored.path,
    position: stored.position,
    live: stored.live,
    arrived: stored.arrived,
    failed: stored.failed,
    bytes: stored.bytes,
    overflown: stored.overflown,
    depth: stored.depth,
    isReused: stored.isReused,
    failure: stored.failure,
    origin: stored.origin,
    merged: stored.merged,
    stored: stored.stored,
    inlineArrivals: stored.inlineArrivals,
    id,
    kept: null,
    fresh: nothingFresh,
    recordBytes: bytes,
    persisted: isPersisted,
    dirty: !isPersisted,
    lastEqualContext: null,
  };
}

/** The data of an ended run, which may have ended without having begun. */
export type FinishedRun = Pick<
  Run,
  'id' | 'submittedBy' | 'createdUs' | 'outer' | 'root' | 'hooked' | 'unsuccessful' | 'tags'
> & {
  /** The hash of the run's definition; null: the run never began. */
  readonly hash: Uint8Array | null;
  /** The number of reused jobs inside the run. */
  readonly reused: number;
  /** The name of the run's pipeline. */
  readonly name: string;
  readonly depth: number;
  /** `inside`: the number of settled jobs inside the run. `unstarted`: how many of these never started. */
  readonly inside: number;
  readonly unstarted: number;
};

/**
 * How a run ended. If the run succeeded, `error` is empty; otherwise `result` is a packed null. The status `dead` means
 * that the run never began.
 */
export type RunEnd = {
  readonly status: TerminalStatus;
  readonly result: Uint8Array;
  readonly error: string;
  readonly logs: Uint8Array | null;
  /** The errors of the phases of a run that succeeded. Null: no errors. */
  readonly phaseError: string | null;
};

const nothingFresh = { turn: -1, values: [] } as const;

export function openScope(
  run: Run,
  sequence: number,
  parent: number,
  path: readonly number[],
  origin: SegmentOrigin,
  isReused: boolean,
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
    isReused,
    failure: null,
    origin,
    merged: null,
    stored: 0,
    inlineArrivals: new ArrivalLog(),
  };
  const scope = scopeOf(stored, run.scopesMade++, false);
  run.scopes.set(scope.id, scope);
  return scope;
}

/** Moves the scope past its next join, from which one token continues. */
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

/**
 * The paths of this scope and of the scopes around it, outermost first, excluding the top scope: the field `within` of a
 * `RunPosition`.
 */
export function pathsAround(run: Run, scope: number): readonly (readonly number[])[] {
  const { parent, path } = run.scopes.get(scope)!;
  return parent < 0 ? [] : [...pathsAround(run, parent), path];
}

/** The node at which the scope's tokens meet next. */
export function joinNode(run: Run, scope: Scope): number {
  const { sequences } = run.version.compiled;
  return sequences[scope.sequence]!.joins[scope.position] ?? endNode;
}

/** The node with this number. Throws if it is not a step with jobs. */
export function workNode(run: Run, number: number): WorkNode {
  const node = run.version.compiled.nodes[number]!;
  if (node.kind !== 'work') throw new Error('the node has no jobs');
  return node;
}

/** Copies the scope's origin. Otherwise the origin would keep in memory the whole packet or block that it came from. */
export function keepOrigin(scope: Scope): void {
  scope.lastEqualContext = null;
  if (scope.origin === scope.kept) return;
  const { cause, context } = scope.origin;
  scope.origin = { cause: cause && unpinned(cause), context: unpinned(context) };
  scope.kept = scope.origin;
}
