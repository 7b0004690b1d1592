// The phases of a run. `on_failure` and `finally` follow the main part, each at most once. The commit that ends a part begins the next one:
// the run's record then names the phase, and a token is parked at the phase's first node (phase-token.ts).
import { packedEmpty, packedNull } from '../../../runtime/packing.ts';
import type { SettledJob } from '../../job/protocol.ts';
import { type TerminalStatus, tallyOf } from '../../job/records/job.ts';
import type { CompiledPhase } from '../definition/compile.ts';
import { park } from '../fanout/fanout.ts';
import { phaseEventType } from '../protocol.ts';
import type { StoredPhase } from '../records/run.ts';
import { openScope, type Run, type RunEnd } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { addFan } from '../tokens/parked-token.ts';
import { failedWith, finishRun } from './run-end.ts';
import { resultOf } from './run-result.ts';

/** The maximum number of failed jobs that the payload of a phase lists. */
export const failuresMax = 100;

/**
 * How the current part of a run (its main part or a phase) ended. `error`: empty if the part succeeded. `isInside`: whether the cancel or
 * the deadline of a run that contains this run has stopped the part.
 */
export type PartEnd = { readonly status: TerminalStatus; readonly error: string; readonly isInside: boolean };

/** Must be called when the current part of the run has ended. Begins the next phase, or ends the run. */
export function endPart(table: RunTable, run: Run, part: PartEnd): void {
  const soFar = endedSoFar(run, part);
  const next = nextPhase(run, soFar.status, part.isInside);
  if (next) beginPhase(table, run, next, soFar);
  else finishRun(table, run, endOf(table, run, soFar));
}

type EndedSoFar = Omit<StoredPhase, 'name' | 'beganUs'>;

function endedSoFar(run: Run, { status, error }: PartEnd): EndedSoFar {
  const { phase } = run;
  if (phase === null)
    return { status, error, phaseError: null, counts: tallyOf(run.settled, run.unsuccessful, run.reuse?.jobs) };
  if (status === 'succeeded') return phase;
  const wrong = `${phase.name}: ${error}`;
  // If a phase is cancelled, the run ends as cancelled.
  if (status === 'cancelled' && phase.status !== 'cancelled') {
    return { ...phase, status, error: phase.error === '' ? wrong : `${wrong}; before that: ${phase.error}` };
  }
  return { ...phase, phaseError: phase.phaseError === null ? wrong : `${phase.phaseError}; ${wrong}` };
}

/** The phase that follows; undefined: none. Phases follow only if a job of the main part has started. */
function nextPhase(run: Run, status: TerminalStatus, isInside: boolean): CompiledPhase | undefined {
  const { phases } = run.version.compiled;
  if (phases.length === 0 || run.settled === run.unstarted) return undefined;
  const hasFailed = (status === 'failed' || status === 'timed_out') && !isInside;
  const now = run.phase?.name;
  return phases.find(({ name }) => (name === 'finally' ? now !== name : now === undefined && hasFailed));
}

function beginPhase(table: RunTable, run: Run, { name, sequence, first }: CompiledPhase, soFar: EndedSoFar): void {
  const { turn, batch, jobs, deadlines } = table;
  table.dropParts(run, soFar.status === 'succeeded');
  run.failure = null;
  const { status, error, phaseError, counts } = soFar;
  run.phase = { name, status, error, phaseError, counts };
  jobs.cancels.phaseBegins(turn, run.id);
  const { phaseTimeoutMs } = run.version.compiled.definition;
  // The timeout of the step that called the run also limits `on_failure`. Only a forced cancel and the phase's own limit stop `finally`.
  const kept = name === 'on_failure' ? run.deadlines.filter(([, kind]) => kind === 'call') : [];
  deadlines.set(batch, run, [...kept, [turn.nowUs + phaseTimeoutMs! * 1000, 'phase']]);
  const scope = openScope(run, sequence, -1, [], { cause: null, context: packedEmpty }, false);
  const event = { type: phaseEventType(name), source: run.version.name, dedupeKey: null };
  const place = { node: first, scope: scope.id, path: [], cause: null, depth: 0, event, context: packedEmpty };
  addFan(table, run, park(run.fansMade++, { ...place, list: packedNull, result: null, isPhase: true }));
  // The number after the token's own number is reserved for the parts of the token's payload (phase-token.ts).
  run.fansMade++;
  table.touch(run, scope);
}

function endOf(table: RunTable, run: Run, { status, error, phaseError }: EndedSoFar): RunEnd {
  if (status === 'succeeded') return { ...resultOf(table, run), phaseError };
  return failedWith(phaseError === null ? error : `${error}; ${phaseError}`, status);
}

/** Records which jobs of the main part did not succeed, up to `failuresMax`, if the pipeline has phases. */
export function noteFailures(run: Run, node: number, jobs: readonly Pick<SettledJob, 'id' | 'status'>[]): void {
  if (run.phase !== null || run.version.compiled.phases.length === 0) return;
  const room = failuresMax - run.failures.length;
  const failed = jobs.filter(({ status }) => status !== 'succeeded').slice(0, room);
  if (failed.length > 0)
    run.failures = [...run.failures, ...failed.map(({ id, status }) => [id, node, status] as const)];
}
