// The end of a run: its job settles, whoever waits is told, and a run that had called it goes on.

import { encodeBody } from '../../runtime/host/wire/outcome.ts';
import type { JobId } from '../../runtime/ids.ts';
import { packedNull } from '../../runtime/packing.ts';
import { encodeTally, tallyOf, type Unsuccessful } from '../job/records/job.ts';
import { type CallSite, idText, type Run } from './run.ts';
import type { RunTable } from './run-table.ts';

/** How a run ends. */
export type RunEnd =
  | { readonly status: 'succeeded'; readonly result: Uint8Array; readonly logs: Uint8Array | null }
  | { readonly status: 'failed' | 'dead'; readonly error: string };

/** What is needed to end a run, even one that never began. */
export type FinishingRun = {
  readonly id: JobId;
  readonly name: string;
  readonly submittedBy: string;
  readonly createdUs: number;
  readonly outer: CallSite | null;
  readonly depth: number;
  /** Where the runs that its hooks start belong; null: below itself. */
  readonly root: JobId | null;
  /** Inside a run that a hook started: no hooks fire. */
  readonly hooked: boolean;
  /** Jobs inside it, and those of them that did not succeed. */
  readonly inside: number;
  readonly unsuccessful: Unsuccessful;
};

export function finishRun(table: RunTable, run: Run, end: RunEnd): void {
  const depth = run.scopes.get(0)!.depth;
  const { id, version, submittedBy, createdUs, outer, root, hooked, settled: inside, unsuccessful } = run;
  table.forget(run);
  const name = version.name;
  settleRun(table, { id, name, submittedBy, createdUs, outer, root, hooked, depth, inside, unsuccessful }, end);
}

export function settleRun(table: RunTable, ending: FinishingRun, end: RunEnd): void {
  const { id, name, submittedBy, createdUs, outer, depth, inside, unsuccessful } = ending;
  const result = end.status === 'succeeded' ? end.result : packedNull;
  const error = end.status === 'succeeded' ? '' : end.error;
  const tally = tallyOf(inside, unsuccessful);
  const counts = encodeTally(tally);
  const body =
    end.status === 'succeeded'
      ? encodeBody({ result, ...(end.logs && { logs: end.logs }), counts })
      : encodeBody({ result, error: Buffer.from(error), counts });
  table.jobs.settleRun({ id, pipeline: name, submittedBy, status: end.status, body, createdUs }, table.turn);
  if (table.awaited.delete(idText(id))) table.turn.tell('edge', { kind: 'run_settled', id });
  if (table.hasRunHooks && !outer && !ending.hooked)
    table.tasks.push({
      kind: 'settled',
      run: { id, name, submittedBy, root: ending.root, status: end.status, error, tally },
    });
  if (outer)
    table.tasks.push({
      kind: 'returned',
      outer,
      ending: { id, name, status: end.status, result, error, depth, inside, unsuccessful },
    });
}
