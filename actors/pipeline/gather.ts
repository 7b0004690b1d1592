// Where chains come together: at a join, or at the end of a run. The last one to come makes the next step start.
import type { JobId } from '../../runtime/ids.ts';
import { type JsonObject, pack, packedNull, unpack } from '../../runtime/packing.ts';
import { lengthOf } from '../../runtime/parted.ts';
import { bringContext, mergeContext } from './baggage.ts';
import { type Chain, movedTo, Packed } from './chain.ts';
import type { Node } from './compile.ts';
import type { Desk } from './desk.ts';
import { finishRun } from './finish.ts';
import { gathered, joinedPayload } from './gathered.ts';
import { joinEventType } from './protocol.ts';
import { advanceScope, gatheringNode, type Origin, type Run, type Scope } from './run.ts';

/** More results than this fail the run at a join, and are left out of a run's own result. */
export const gatheredBytesMax = 64 * 2 ** 20;

/** One chain that came. `ordinal` is the last of its path, or negative. */
export type Arrival = {
  readonly path: readonly number[];
  readonly ordinal: number;
  readonly result: Uint8Array;
  readonly failed: boolean;
  readonly cause: JobId | null;
  readonly context: Uint8Array;
  readonly depth: number;
};

export function arrive(desk: Desk, run: Run, scope: Scope, arrival: Arrival): void {
  if (run.failure !== null) return;
  const { path, ordinal, result, context, depth } = arrival;
  scope.dirty = true;
  scope.arrived++;
  scope.live--;
  if (arrival.failed) scope.failed++;
  if (depth > scope.depth) scope.depth = depth;
  if (path.length === 0 && ordinal < 0) scope.origin = { cause: arrival.cause, context };
  else if (context !== scope.known) noteContext(scope, context, ordinal < 0 ? path : [...path, ordinal]);
  const node = run.version.compiled.nodes[gatheringNode(run, scope)]!;
  if (node.kind === 'end' || (node.kind === 'join' && node.collect === 'results')) {
    collect(desk, run, scope, node, path, ordinal, result);
  }
  if (scope.live === 0 && run.failure === null) fire(desk, run, scope);
}

function collect(
  desk: Desk,
  run: Run,
  scope: Scope,
  node: Node,
  path: readonly number[],
  ordinal: number,
  result: Uint8Array,
): void {
  scope.bytes += lengthOf(result);
  if (scope.bytes <= gatheredBytesMax) {
    scope.rest.add(path, ordinal, result);
    return;
  }
  if (node.kind === 'join') {
    const advice = 'with "collect: counts" a join keeps none';
    desk.fail(run, `step "${node.stepId}": more than ${gatheredBytesMax / 2 ** 20} MiB of results to join; ${advice}`);
  } else {
    scope.overflown = true;
    desk.arrivals.drop(run, scope);
  }
}

/** Most chains bring the context they had at the fork: then there is nothing to note. */
function noteContext(scope: Scope, context: Uint8Array, path: readonly number[]): void {
  if (Buffer.compare(context, scope.origin.context) === 0) {
    scope.known = context;
    return;
  }
  scope.leaves ??= new Map();
  bringContext(scope.leaves, unpack<JsonObject>(context), path);
}

/** A chain that divides: what follows descends from here. The first fork of a segment is the one that counts. */
export function markFork(scope: Scope, path: readonly number[], origin: Origin): void {
  if (path.length > 0) return;
  scope.origin = origin;
  scope.known = null;
}

/** Chains of the scope have ended without coming to its join. */
export function endChains(desk: Desk, run: Run, scope: Scope, count: number): void {
  scope.dirty = true;
  scope.live -= count;
  if (scope.live === 0 && run.failure === null) fire(desk, run, scope);
}

function fire(desk: Desk, run: Run, scope: Scope): void {
  const at = gatheringNode(run, scope);
  const node = run.version.compiled.nodes[at]!;
  if (node.kind === 'end') {
    finishRun(desk, run, { status: 'succeeded', ...resultOf(desk, run, scope) });
    return;
  }
  if (node.kind !== 'join') throw new Error('chains are gathered by a join');
  const counts = { succeeded: scope.arrived - scope.failed, failed: scope.failed };
  const payload =
    node.collect === 'counts' ? pack(counts) : joinedPayload(desk, run, scope, pack({ results: null, ...counts }));
  const { cause } = scope.origin;
  const context =
    scope.leaves === null
      ? scope.origin.context
      : pack(mergeContext(unpack<JsonObject>(scope.origin.context), scope.leaves));
  desk.arrivals.drop(run, scope);
  const chain: Chain = {
    path: scope.path,
    payload: new Packed(payload, desk.arrivals.read),
    context: new Packed(context),
    event: { type: joinEventType, source: run.version.name, dedupeKey: null },
    depth: scope.depth,
    cause,
    result: payload,
  };
  const { joins } = run.version.compiled.sequences[scope.sequence]!;
  const isLast = scope.parent >= 0 && scope.position === joins.length - 1;
  if (isLast) {
    desk.dropScope(run, scope);
    // The chain goes on in the scope around, where this one was counted as live.
    desk.tasks.push({ kind: 'enter', run, scope: run.scopes.get(scope.parent)!, node: node.next, chain });
  } else {
    advanceScope(scope, { cause, context });
    desk.tasks.push({ kind: 'enter', run, scope, node: node.next, chain: movedTo(chain, []) });
  }
  desk.touch(run);
}

/** A list where the definition ends forked; else the value itself, and a list only where jobs emitted several events. */
function resultOf(desk: Desk, run: Run, scope: Scope): { result: Uint8Array; logs: Uint8Array | null } {
  if (scope.overflown) {
    const message = `the result is left out: it takes ${scope.bytes} bytes, more than ${gatheredBytesMax / 2 ** 20} MiB`;
    return { result: packedNull, logs: pack([{ level: 'warn', message }]) };
  }
  const { arrived } = scope;
  const isList = run.version.compiled.endsForked || arrived > 1;
  // The only chain ended on the way: its event had been taken before.
  if (!isList && arrived === 0) return { result: packedNull, logs: null };
  return { result: gathered(desk, run, scope, isList), logs: null };
}
