// Tokens meet at joins, and at the end of the main part and of each phase. When the last token has arrived or ended, and no
// failure is recorded (`failLate`), one token continues after the join; at an end, the next phase begins or the run ends.

import { type JsonObject, pack, unpack } from '../../../runtime/packing.ts';
import { lengthOf } from '../../../runtime/parted.ts';
import type { Node, WorkNode } from '../definition/compile.ts';
import { endPart } from '../lifecycle/phases.ts';
import { joinBytesMax } from '../lifecycle/run-result.ts';
import { joinEventType } from '../protocol.ts';
import type { SegmentOrigin } from '../records/run.ts';
import { advanceScope, joinNode, type Run, type Scope } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { addContext, mergeContext } from '../tokens/baggage.ts';
import { movedTo, Packed, type Token } from '../tokens/token.ts';
import { joinedPayload } from './join-results.ts';

/** A token that arrives at a join, or at the end of the main part or of a phase. */
type Arrival = Pick<Token, 'path' | 'result' | 'cause' | 'depth' | 'isReused'> & {
  readonly failed: boolean;
  readonly context: Uint8Array;
};

export function arriveAtJoin(table: RunTable, run: Run, scope: Scope, arrival: Arrival): void {
  if (run.failure !== null) return;
  const { path, result, context, depth } = arrival;
  scope.dirty = true;
  scope.arrived++;
  scope.live--;
  if (arrival.failed) scope.failed++;
  if (!arrival.isReused) scope.isReused = false;
  if (depth > scope.depth) scope.depth = depth;
  const { nodes, baggageMaps } = run.version.compiled;
  const node = nodes[joinNode(run, scope)]!;
  if (path.length === 0) scope.origin = { cause: arrival.cause, context };
  else if (node.kind === 'join' && context !== scope.lastEqualContext) noteContext(scope, context, path, baggageMaps);
  if (node.kind === 'end' || (node.kind === 'join' && node.collect === 'results')) {
    addResult(table, run, scope, node, path, result);
  }
  if (scope.live === 0 && run.failure === null) completeJoin(table, run, scope);
}

function addResult(
  table: RunTable,
  run: Run,
  scope: Scope,
  node: Node,
  path: readonly number[],
  result: Uint8Array,
): void {
  scope.bytes += lengthOf(result);
  if (scope.bytes <= joinBytesMax) {
    scope.inlineArrivals.add(path, result);
    return;
  }
  if (node.kind === 'join') {
    const advice = 'with "collect: counts" the join gets only their counts';
    table.fail(run, `step "${node.stepId}": more than ${joinBytesMax / 2 ** 20} MiB of results to join; ${advice}`);
  } else {
    scope.overflown = true;
    table.arrivals.drop(run, scope);
  }
}

/** Records the context of a token, unless it is equal to the context of the scope's origin. */
function noteContext(
  scope: Scope,
  context: Uint8Array,
  path: readonly number[],
  baggageMaps: ReadonlySet<string>,
): void {
  if (Buffer.compare(context, scope.origin.context) === 0) {
    scope.lastEqualContext = context;
    return;
  }
  scope.merged ??= new Map();
  addContext(scope.merged, unpack<JsonObject>(context), path, baggageMaps);
}

/**
 * Records the origin of a token that divides: the token after the next join continues with this origin. Only the first fork of a
 * segment counts.
 */
export function markFork(scope: Scope, path: readonly number[], origin: SegmentOrigin): void {
  if (path.length > 0) return;
  scope.origin = origin;
  scope.lastEqualContext = null;
}

/** Ends tokens that will not arrive at the scope's join. */
export function endTokens(table: RunTable, run: Run, scope: Scope, count: number, isReused: boolean): void {
  scope.dirty = true;
  if (!isReused) scope.isReused = false;
  scope.live -= count;
  if (scope.live === 0 && run.failure === null) completeJoin(table, run, scope);
}

/** Fails a step for one token: with `fail_fast: false`, only the token ends (`failLate`); otherwise the current part of the run fails. */
export function failToken(table: RunTable, run: Run, scope: Scope, { failsLate }: WorkNode, failure: string): void {
  if (failsLate) failLate(table, run, scope, failure);
  else table.fail(run, failure);
}

/** Ends a token that has passed a fork with `fail_fast: false`, and records its failure. The other tokens of its scope continue. */
function failLate(table: RunTable, run: Run, scope: Scope, failure: string): void {
  scope.failure ??= failure;
  endTokens(table, run, scope, 1, false);
}

/**
 * Fails the step for one element of a fan-out. With `fail_fast: false`, ends only the element's token, which the caller adds to `scope.live`
 * afterwards. This does not complete the join: the fan-out itself still counts as a token of the scope.
 */
export function failElement(table: RunTable, run: Run, scope: Scope, { failsLate }: WorkNode, failure: string): void {
  if (!failsLate) {
    table.fail(run, failure);
    return;
  }
  scope.failure ??= failure;
  scope.isReused = false;
  scope.live--;
}

/**
 * Called when all tokens of the scope have arrived or ended, and `failLate` has recorded a failure. If the token that entered the scope has
 * passed a fork with `fail_fast: false`, only that token fails; otherwise the current part of the run fails.
 */
function failAtJoin(table: RunTable, run: Run, scope: Scope, failure: string): void {
  if (run.version.compiled.sequences[scope.sequence]!.failsLate) {
    table.dropScope(run, scope);
    failLate(table, run, run.scopes.get(scope.parent)!, failure);
  } else table.fail(run, failure);
}

function completeJoin(table: RunTable, run: Run, scope: Scope): void {
  if (scope.failure !== null) {
    failAtJoin(table, run, scope, scope.failure);
    return;
  }
  const at = joinNode(run, scope);
  const node = run.version.compiled.nodes[at]!;
  if (node.kind === 'end') {
    endPart(table, run, { status: 'succeeded', error: '', isInside: false });
    return;
  }
  if (node.kind !== 'join') throw new Error('only a join gathers tokens');
  const counts = { succeeded: scope.arrived - scope.failed, failed: scope.failed };
  const payload =
    node.collect === 'counts' ? pack(counts) : joinedPayload(table, run, scope, pack({ results: null, ...counts }));
  const { cause } = scope.origin;
  const context =
    scope.merged === null
      ? scope.origin.context
      : pack(mergeContext(unpack<JsonObject>(scope.origin.context), scope.merged));
  table.arrivals.drop(run, scope);
  const token: Token = {
    path: scope.path,
    payload: new Packed(payload, table.evaluationLimits),
    context: new Packed(context),
    event: { type: joinEventType, source: run.version.name, dedupeKey: null },
    depth: scope.depth,
    cause,
    result: payload,
    storedAs: null,
    isReused: scope.isReused,
  };
  const { joins } = run.version.compiled.sequences[scope.sequence]!;
  const isLast = scope.parent >= 0 && scope.position === joins.length - 1;
  if (isLast) {
    table.dropScope(run, scope);
    // The token continues in the outer scope, which counted this scope as one of its live tokens.
    table.moves.push({ kind: 'enter', run, scope: run.scopes.get(scope.parent)!, node: node.next, token });
  } else {
    advanceScope(scope, { cause, context });
    table.moves.push({ kind: 'enter', run, scope, node: node.next, token: movedTo(token, []) });
  }
  table.touch(run);
}
