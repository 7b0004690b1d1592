// The start of a run: by a call, a delivery, an event, a hook, a schedule, a rerun, or a step of another run.

import { unpinned } from '../../../runtime/bytes.ts';
import type { EventEnvelope } from '../../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { packedNull } from '../../../runtime/packing.ts';
import { type JobGroup, noneUnsuccessful, type PhaseName, type RunPosition } from '../../job/records/job.ts';
import type { JobOptions } from '../../job/records/options.ts';
import type { Version } from '../definition/definition-versions.ts';
import { topAddress } from '../records/reuse.ts';
import { type CallSite, noDeadlines, noFailures, type StoredReuse, type StoredRun } from '../records/run.ts';
import type { RunDeadline } from '../records/run-deadline.ts';
import { openScope, runOf } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { Packed, type Token } from '../tokens/token.ts';
import { failedWith, settleRun } from './run-end.ts';

/** The fields of the run's job that depend on its start: a call, an event, a step and so on. */
type RunOrigin = Pick<
  JobGroup,
  'submittedBy' | 'parent' | 'root' | 'depth' | 'context' | 'hooked' | 'rerun' | 'options'
>;

export type RunStart = RunOrigin & {
  readonly event: EventEnvelope;
  /**
   * Whether the first steps get `event` unchanged, as they do for deliveries, for schedules, and for reruns of runs that no call
   * started. Otherwise the type of their event is the pipeline's `on`, if it has one.
   */
  readonly isDelivery?: true;
  readonly payload: Uint8Array;
  /** Whether the pipeline's own condition is known to hold. */
  readonly isWanted?: true;
  /** When a delayed run was to begin. */
  readonly runAtUs?: number;
  /** For a run that a step calls: the place of that step, and the names of the pipeline and step that the run's job shows. */
  readonly called: {
    readonly outer: CallSite;
    readonly within?: RunPosition['within'];
    readonly pipeline: string;
    readonly stepId: string;
    /** The phase of the calling run to which the step belongs. Undefined: its main part. */
    readonly phase: PhaseName | undefined;
    /** How long the run may take before it is cancelled; undefined: no limit. */
    readonly timeoutMs: number | undefined;
  } | null;
  /** For a rerun `from: failed`: the original run. For a run that such a rerun calls, directly or not: the whole `StoredReuse`. */
  readonly reuse?: Pick<StoredReuse, 'of'> | StoredReuse;
};

export function beginRun(table: RunTable, version: Version, start: RunStart): JobId {
  const id = createRun(table, version.name, start);
  enterRun(table, version, id, start, table.turn.nowUs);
  return id;
}

/** Begins the run whose job has been created under this id. */
export function enterRun(table: RunTable, version: Version, id: JobId, start: RunStart, createdUs: number): void {
  const { called, context, depth, event } = start;
  const stored: StoredRun = {
    createdUs,
    submittedBy: start.submittedBy,
    root: start.root,
    hooked: start.hooked,
    outer: called && keptOuter(called.outer),
    failure: null,
    jobs: 0,
    scopesMade: 0,
    fansMade: 0,
    settled: 0,
    unsuccessful: noneUnsuccessful(),
    reuse: start.reuse ? { root: id, address: topAddress, isIndexed: false, jobs: 0, ...start.reuse } : null,
    tags: start.options?.tags,
    unstarted: 0,
    failures: noFailures,
    phase: null,
    deadlines: noDeadlines,
  };
  const isReused = stored.reuse !== null;
  const tree = start.root === null ? table.descendants.begin(id) : table.descendants.open(start.root);
  const run = runOf(stored, id, version, tree, start.parent, 0);
  table.add(run);
  const deadlines = deadlinesOf(version, start, createdUs);
  if (deadlines.length > 0) table.deadlines.set(table.batch, run, deadlines);
  const scope = openScope(run, 0, -1, [], { cause: null, context }, isReused);
  scope.depth = depth;
  table.touch(run);
  const { compiled } = version;
  const { definition } = compiled;
  const token: Token = {
    path: [],
    payload: new Packed(start.payload, table.evaluationLimits),
    context: new Packed(context),
    event: definition.on === null || start.isDelivery ? event : { ...event, type: definition.on },
    depth,
    cause: null,
    result: packedNull,
    storedAs: 'result',
    isReused,
  };
  table.moves.push({ kind: 'enter', run, scope, node: start.isWanted ? compiled.first : compiled.start, token });
}

/**
 * The deadlines with which the run begins, at most two. `deadline`: the shorter one of its pipeline's deadline and the deadline that its
 * caller has set. `call`: the timeout of the step that called the run.
 */
function deadlinesOf({ compiled }: Version, { called, options, runAtUs = 0 }: RunStart, acceptedUs: number) {
  // The deadline of a delayed run counts from its time to run.
  const createdUs = Math.max(acceptedUs, runAtUs);
  const deadlineMs = deadlineMsOf(compiled.definition, options);
  const timeoutMs = called?.timeoutMs;
  if (deadlineMs === undefined && timeoutMs === undefined) return noDeadlines;
  const deadlines: RunDeadline[] = [];
  if (deadlineMs !== undefined) deadlines.push([createdUs + deadlineMs * 1000, 'deadline']);
  if (timeoutMs !== undefined) deadlines.push([createdUs + timeoutMs * 1000, 'call']);
  return deadlines;
}

/**
 * How long a run may take: the shorter of its pipeline's and its call's deadline. Undefined: neither has a deadline.
 */
export function deadlineMsOf(
  { deadlineMs: ofPipeline }: Pick<Version['compiled']['definition'], 'deadlineMs'>,
  options: JobOptions | null | undefined,
): number | undefined {
  const ofCall = options?.deadlineMs;
  return ofPipeline === undefined || ofCall === undefined ? (ofPipeline ?? ofCall) : Math.min(ofPipeline, ofCall);
}

/** Copies the baggage: a view would keep a larger buffer in memory until the run ends. */
function keptOuter({ run, node, scope, path, context }: CallSite): CallSite {
  return { run, node, scope, path, context: unpinned(context) };
}

/**
 * Creates a run that ends at once as failed or dead. For example, its payload cannot be made, its pipeline is no longer
 * configured, or the tree has too many descendants.
 */
export function refuseRun(
  table: RunTable,
  name: string,
  start: RunStart,
  error: string,
  status: 'failed' | 'dead' = 'failed',
): void {
  const id = createRun(table, name, start);
  settleUnbegun(table, name, id, { ...start, createdUs: table.turn.nowUs }, error, status);
}

export function settleUnbegun(
  table: RunTable,
  name: string,
  id: JobId,
  start: RunStart & { readonly createdUs: number },
  error: string,
  status: 'failed' | 'dead' | 'cancelled',
): void {
  const ended = {
    id,
    name,
    submittedBy: start.submittedBy,
    createdUs: start.createdUs,
    outer: start.called?.outer ?? null,
    root: start.root,
    hooked: start.hooked,
    tags: start.options?.tags,
    depth: start.depth,
    inside: 0,
    unstarted: 0,
    reused: 0,
    hash: null,
    unsuccessful: noneUnsuccessful(),
  };
  settleRun(table, ended, failedWith(error, status), status === 'cancelled' ? 0 : 1);
}

/** Creates the job of a run. A delayed run has only this job until its time comes (delayed-runs.ts). */
export function createRun(table: RunTable, name: string, start: RunStart): JobId {
  const { root, event, context, payload, called } = start;
  if (root !== null) table.descendants.made(table.descendants.of(root), 1);
  const group: JobGroup = {
    ...originOf(start),
    event,
    pipeline: called?.pipeline ?? null,
    stepId: called?.stepId ?? null,
    run: called && positionOf(called),
    phase: called?.phase,
  };
  table.bytesInTurn += payload.length + context.length;
  return unpinned(table.jobs.createRun(name, group, payload, table.turn));
}

export function originOf(from: RunOrigin): RunOrigin {
  const { submittedBy, parent, root, depth, context, hooked, rerun, options } = from;
  return { submittedBy, parent, root, depth, context, hooked, rerun, options };
}

function positionOf({ outer, within }: NonNullable<RunStart['called']>): RunPosition {
  const { run, node, scope, path } = outer;
  const position = { run, node, scope, path, first: null };
  return within === undefined ? position : { ...position, within };
}
