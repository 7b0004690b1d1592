// When a run ends, its job settles. Then the run that called it continues or, if no run called it, hooks for its end
// may fire.

import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { packedNull } from '../../../runtime/packing.ts';
import { encodeTally, type TerminalStatus, tallyOf } from '../../job/records/job.ts';
import type { FinishedRun, Run, RunEnd } from '../run.ts';
import type { RunTable } from '../run-table.ts';

export function succeededWith(result: Uint8Array, logs: Uint8Array | null = null): RunEnd {
  return { status: 'succeeded', result, error: '', logs, phaseError: null };
}

export function failedWith(error: string, status: TerminalStatus = 'failed'): RunEnd {
  return { status, result: packedNull, error, logs: null, phaseError: null };
}

export function finishRun(table: RunTable, run: Run, end: RunEnd): void {
  const { depth } = run.scopes.get(0)!;
  const { id, version, submittedBy, createdUs, outer, root, hooked, settled: inside, unsuccessful, reuse } = run;
  const { unstarted, tags } = run;
  // A rerun `from: failed` needs the definition.
  table.versions.keep(version, table.batch);
  table.forget(run);
  if (reuse && root === null) table.sources.end(id);
  const { name, hash } = version;
  const own = { id, name, hash, submittedBy, createdUs, outer, root, hooked, tags };
  settleRun(table, { ...own, depth, inside, unstarted, reused: reuse?.jobs ?? 0, unsuccessful }, end);
}

export function settleRun(table: RunTable, run: FinishedRun, end: RunEnd, attempt: 0 | 1 = 1): void {
  const { id, name: pipeline, hash, submittedBy, createdUs, outer, hooked, inside, reused, unsuccessful } = run;
  const { status, result, error, logs, phaseError } = end;
  const counts = encodeTally(tallyOf(inside, unsuccessful, reused), hash, phaseError);
  const detail = status === 'succeeded' ? logs && { logs } : { error: Buffer.from(error) };
  const body = encodeBody({ result, ...detail, counts });
  table.jobs.settleRun({ id, pipeline, submittedBy, status, body, createdUs, attempt }, table.turn);
  if (table.hasRunHooks && !outer && !hooked) table.moves.push({ kind: 'settled', run, status, body });
  if (outer) table.moves.push({ kind: 'returned', outer, run, end });
}
