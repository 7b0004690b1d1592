// Turns the events of a run's job into tokens of the run.
import type { JobId } from '../../../runtime/ids.ts';
import type { CompiledPipeline, Node } from '../definition/compile.ts';
import type { Emitted } from '../events/events.ts';
import { eventKey, isDropped, writeDropped } from '../records/reuse.ts';
import type { Run, Scope } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { Packed, type Token } from './token.ts';

/**
 * Makes a token with the event's payload, and moves it to the node. `place`: the position of the event among the job's
 * events. False: the event is dropped. An event is dropped if the step has had another event with this dedupe key
 * within 24 hours. An event of a reused job stays dropped if it has been dropped before.
 */
export function enterEvent(
  table: RunTable,
  run: Run,
  scope: Scope,
  node: number,
  { context, event: { source }, depth, cause, result, isReused }: Token,
  path: readonly number[],
  { type, payload, at: storedAs, dedupeKey }: Emitted,
  place: number,
): boolean {
  if (dedupeKey !== null) {
    if (isReused && isDropped(table.reader, cause!, place)) return false;
    if (drops(table, run, node, dedupeKey, cause!, place, isReused)) return false;
  }
  const event = { type, source, dedupeKey };
  const packed = new Packed(payload, table.evaluationLimits);
  const token: Token = { path, payload: packed, context, event, depth, cause, result, storedAs, isReused };
  table.moves.push({ kind: 'enter', run, scope, node, token });
  return true;
}

/**
 * Whether the step has had another event with this key within 24 hours. If so, records that the new event is dropped. If not, remembers the
 * key. A node without a step drops no event, and its keys are not remembered.
 *
 * An event of a reused job has used its key in an earlier run, unless that run had failed before the job ended.
 */
function drops(
  table: RunTable,
  run: Run,
  node: number,
  dedupeKey: string,
  job: JobId,
  place: number,
  isReused: boolean,
): boolean {
  const { dedupe, turn, batch } = table;
  const { name, compiled } = run.version;
  const step = stepNode(compiled, node)?.step;
  if (!step) return false;
  const event = eventKey(job, place);
  const mayEnter = isReused
    ? dedupe.isNewOrOwn(name, step.id, dedupeKey, turn, event)
    : dedupe.isNew(name, step.id, dedupeKey, turn, event);
  if (mayEnter) return false;
  writeDropped(batch, job, place);
  return true;
}

/** The node with this number or, if a scope opens there, the first node inside the scope. Null: this node has no step. */
function stepNode(compiled: CompiledPipeline, number: number): Extract<Node, { readonly step: unknown }> | null {
  const node = compiled.nodes[number]!;
  if (node.kind === 'scope') return stepNode(compiled, node.first);
  return 'step' in node ? node : null;
}
