// The beginning of a run: by a call, by an event, by a hook, or by a step of another run.

import { unpinned } from '../../runtime/bytes.ts';
import type { JobId } from '../../runtime/ids.ts';
import { packedNull } from '../../runtime/packing.ts';
import type { JobGroup } from '../job/records/job.ts';
import { makeEvent, noneUnsuccessful } from '../job/records/job.ts';
import { type Chain, type ChainEvent, dataOf, Packed } from './chain.ts';
import { holds } from './condition.ts';
import type { Desk } from './desk.ts';
import { finishRun, settleRun } from './finish.ts';
import { idText, type Outer, openScope, type Run } from './run.ts';
import type { Version } from './versions.ts';

export type Beginning = {
  readonly submittedBy: string;
  /** The job that caused it, and the root of the tree it belongs to; null: it is a root itself. */
  readonly parent: JobId | null;
  readonly root: JobId | null;
  /** How many jobs the chain has crossed that started it. */
  readonly depth: number;
  readonly event: ChainEvent;
  /** Of a delivery: the first steps get the event as it is; otherwise its type is that of the pipeline's `on`. */
  readonly isDelivery?: true;
  readonly context: Uint8Array;
  readonly payload: Uint8Array;
  readonly hooked: boolean;
  /** For a run that a step called: that step's place, and its names for the job. */
  readonly called: { readonly outer: Outer; readonly pipeline: string; readonly stepId: string } | null;
};

export function beginRun(desk: Desk, version: Version, beginning: Beginning): JobId {
  const id = unpinned(createRun(desk, version.name, beginning));
  const { called, context, depth, event } = beginning;
  const run: Run = {
    id,
    name: idText(id),
    version,
    createdUs: desk.turn.nowUs,
    submittedBy: beginning.submittedBy,
    root: beginning.root,
    tree: beginning.root === null ? desk.descendants.begin(id) : desk.descendants.open(beginning.root),
    hooked: beginning.hooked,
    parent: beginning.parent,
    outer: called && keptOuter(called.outer),
    failure: null,
    jobs: 0,
    settled: 0,
    unsuccessful: noneUnsuccessful(),
    scopes: new Map(),
    scopesMade: 0,
    fans: new Map(),
    fansMade: 0,
    ownBytes: 0,
    bytes: 0,
    usedIn: 0,
    persisted: false,
    ended: false,
  };
  desk.add(run);
  const scope = openScope(run, 0, -1, [], { cause: null, context });
  scope.depth = depth;
  desk.touch(run);
  const { definition, first } = version.compiled;
  const chain: Chain = {
    path: [],
    payload: new Packed(beginning.payload, desk.arrivals.read),
    context: new Packed(context),
    event: definition.on === null || beginning.isDelivery ? event : { ...event, type: definition.on },
    depth,
    cause: null,
    result: packedNull,
  };
  if (definition.if === null || holds(definition.if, dataOf(chain, null))) {
    desk.tasks.push({ kind: 'enter', run, scope, node: first, chain });
  } else finishRun(desk, run, { status: 'succeeded', result: packedNull, logs: null });
  return id;
}

/** It stays as long as the run does. */
function keptOuter({ run, node, scope, path, context }: Outer): Outer {
  return { run, node, scope, path, context: unpinned(context) };
}

/** A run that fails without beginning: its payload cannot be made, its pipeline is gone; or it is one too many, and `dead`. */
export function refuseRun(
  desk: Desk,
  name: string,
  beginning: Beginning,
  error: string,
  status: 'failed' | 'dead' = 'failed',
): JobId {
  const id = createRun(desk, name, beginning);
  const ending = {
    id,
    name,
    submittedBy: beginning.submittedBy,
    createdUs: desk.turn.nowUs,
    outer: beginning.called?.outer ?? null,
    root: beginning.root,
    hooked: beginning.hooked,
    depth: beginning.depth,
    inside: 0,
    unsuccessful: noneUnsuccessful(),
  };
  settleRun(desk, ending, { status, error });
  return id;
}

function createRun(desk: Desk, name: string, beginning: Beginning): JobId {
  const { submittedBy, parent, root, depth, event, context, payload, hooked, called } = beginning;
  if (root !== null) desk.descendants.made(desk.descendants.of(root), 1);
  const group: JobGroup = {
    submittedBy,
    parent,
    root,
    depth,
    event: makeEvent(event, event.dedupeKey),
    context,
    pipeline: called?.pipeline ?? null,
    stepId: called?.stepId ?? null,
    run: called && { ...positionOf(called.outer), first: null },
    hooked,
  };
  desk.bytesInTurn += payload.length + context.length;
  return desk.jobs.createRun(name, group, payload, desk.turn);
}

function positionOf({ run, node, scope, path }: Outer) {
  return { run, node, scope, path };
}
