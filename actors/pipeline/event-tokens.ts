// Turns the events of a run's job into tokens of the run.
import type { CompiledPipeline, Node } from './compile.ts';
import type { Emitted } from './events.ts';
import type { Run, Scope } from './run.ts';
import type { RunTable } from './run-table.ts';
import { Packed, type Token } from './token.ts';

/** Sends the token to the node with the event as its payload. False: the step has already had an event with this dedupe key. */
export function enterEvent(
  table: RunTable,
  run: Run,
  scope: Scope,
  node: number,
  { context, event: { source }, depth, cause, result, isReused }: Token,
  path: readonly number[],
  { type, payload, dedupeKey }: Emitted,
): boolean {
  if (dedupeKey !== null && !isReused) {
    const step = stepNode(run.version.compiled, node)?.step;
    if (step && !table.dedupe.isNew(run.version.name, step.id, dedupeKey, table.turn)) return false;
  }
  const event = { type, source, dedupeKey };
  const packed = new Packed(payload, table.sight);
  const token: Token = { path, payload: packed, context, event, depth, cause, result, isStored: false, isReused };
  table.moves.push({ kind: 'enter', run, scope, node, token });
  return true;
}

/** The step at a node, or the first step of the scope that opens there; null: the node is a join or an end. */
function stepNode(compiled: CompiledPipeline, number: number): Extract<Node, { readonly step: unknown }> | null {
  const node = compiled.nodes[number]!;
  if (node.kind === 'scope') return stepNode(compiled, node.first);
  return 'step' in node ? node : null;
}
