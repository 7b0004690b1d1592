// Turns the events of a run's job into tokens of the run.
import type { JobId } from '../../../runtime/ids.ts';
import type { CompiledPipeline, Node } from '../definition/compile.ts';
import type { Emitted } from '../events/events.ts';
import {
  eventKey,
  forkAddress,
  isDropped,
  type Place,
  readIndexed,
  splitPath,
  writeDropped,
} from '../records/reuse.ts';
import { pathsAround, type Run, type Scope } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { Packed, type Token } from './token.ts';

/**
 * Makes a token with the event's payload, and moves it to the node. `place`: the position of the event among the job's
 * events. False: the event is dropped. An event is dropped if the step has had another event with this dedupe key
 * within 24 hours. An event of a reused job stays dropped if it has been dropped before. It is never dropped if the original
 * run let it enter, as the job after it shows.
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
  if (dedupeKey !== null && isKnown(table, run, node, dedupeKey, cause!, place, isReused)) {
    const isKept = isReused && hadJob(table, run, { node, path, within: pathsAround(run, scope.id) });
    if (!isKept) {
      writeDropped(table.batch, cause!, place);
      return false;
    }
  }
  const event = { type, source, dedupeKey };
  const packed = new Packed(payload, table.evaluationLimits);
  const token: Token = { path, payload: packed, context, event, depth, cause, result, storedAs, isReused };
  table.moves.push({ kind: 'enter', run, scope, node, token });
  return true;
}

/**
 * Whether the step has had another event with this key within 24 hours, or has dropped this event before. If not, remembers the key. A node
 * without a step knows no keys.
 *
 * An event of a reused job has used its key in an earlier run, unless that run had failed before the job ended.
 */
function isKnown(
  table: RunTable,
  run: Run,
  node: number,
  dedupeKey: string,
  job: JobId,
  place: number,
  isReused: boolean,
): boolean {
  const { dedupe, turn, reader } = table;
  const { name, compiled } = run.version;
  const step = stepNode(compiled, node)?.step;
  if (!step) return false;
  const event = eventKey(job, place);
  if (!isReused) return !dedupe.isNew(name, step.id, dedupeKey, turn, event);
  return isDropped(reader, job, place) || !dedupe.isNewOrOwn(name, step.id, dedupeKey, turn, event);
}

/**
 * Whether the original run has a job at this place or, if the step there has a `foreach`, a job for its first element. For nested steps: a
 * job at the first of them; for branches: a job at the first step of one of them. If a step has a condition, the run may have skipped it, so a
 * job at the next step counts, too.
 */
function hadJob(table: RunTable, run: Run, place: Place): boolean {
  const { root, address } = run.reuse!;
  const isThere = (at: Place, ordinal: number): boolean =>
    readIndexed(table.reader, root, forkAddress(address, at), ordinal) !== null;
  const places = [place];
  const known = new Set<string>();
  for (const at of places) {
    const { node: number, path, within = [] } = at;
    const name = JSON.stringify([number, path, within]);
    if (known.has(name)) continue;
    known.add(name);
    const node = run.version.compiled.nodes[number]!;
    const [before, last] = splitPath(path);
    if (node.kind === 'steps') places.push({ ...at, node: node.first });
    else if (node.kind === 'split')
      places.push(...node.branches.map((first, i) => ({ node: first, path: [...path, i], within })));
    else if (node.kind === 'scope') places.push({ node: node.first, path: [], within: [...within, path] });
    else if (isThere({ ...at, path: before }, last) || isThere(at, 0)) return true;
    if ('step' in node && node.step.if !== null) places.push({ ...at, node: node.next });
  }
  return false;
}

/** The node with this number or, if a scope opens there, the first node inside the scope. Null: this node has no step. */
function stepNode(compiled: CompiledPipeline, number: number): Extract<Node, { readonly step: unknown }> | null {
  const node = compiled.nodes[number]!;
  if (node.kind === 'scope') return stepNode(compiled, node.first);
  return 'step' in node ? node : null;
}
