// Applies an action to jobs. Each job is treated as if a call had asked for this job alone.
import type { JobId } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { Cancelling } from '../cancel/cancelling.ts';
import type { JobAcceptor } from '../job-acceptor.ts';
import type { PipelineCalls, Refusal, SubmitJobsReply, SubmitReply } from '../protocol.ts';
import type { ActionPlan, OperationOutcome, SkipReason } from '../records/action.ts';
import { pipelinePlugin } from '../records/job.ts';
import type { Pause } from '../records/pause.ts';
import { type RunNowOptions, runNow } from '../times/run-now.ts';
import { BlockCache, twoBlocks } from '../views/block-cache.ts';
import type { JobView } from '../views/job-view.ts';
import { findJob } from '../views/jobs.ts';
import { deliveredEvent, rerunRequest } from '../views/rerun-request.ts';

/**
 * `outcomes`: the outcomes of the ids that were handled, in order; the other ids are left for another turn. `waits`: why the next id
 * cannot be handled yet. Null: nothing prevents it.
 */
export type OperationReport = {
  readonly outcomes: readonly OperationOutcome[];
  readonly waits: Refusal | null;
  /** The pause that refuses the next job. Absent or null: no pause does. */
  readonly pause?: Pause | null;
};
export type ApplyOperation = (turn: Turn, plan: ActionPlan, ids: readonly JobId[]) => OperationReport;

/** A call of `rerunAll` stops when the payloads of the jobs that it has handled have at least this many bytes in total. */
const rerunBytesMax = 4 * 2 ** 20;

export type OperationsOptions = RunNowOptions & {
  readonly cancelling: Cancelling;
  readonly acceptor: JobAcceptor;
  readonly pipeline: PipelineCalls;
};

export function openOperations(options: OperationsOptions): ApplyOperation {
  const { state, cancelling, acceptor, pipeline } = options;

  function rerunAll(turn: Turn, plan: ActionPlan, ids: readonly JobId[]): OperationReport {
    const blocks = new BlockCache(state.reader, twoBlocks);
    const outcomes: OperationOutcome[] = [];
    let bytes = 0;
    for (const id of ids) {
      if (outcomes.length > 0 && (turn.isSpent || bytes >= rerunBytesMax)) break;
      // A job whose records cannot be decoded counts as not found.
      const job = readable(() => findJob(state.reader, id, blocks));
      const reply = job ? rerun(turn, job, plan) : 'not_found';
      if (typeof reply === 'string') outcomes.push(reply);
      else if (reply.kind === 'accepted') outcomes.push('done');
      else if (reply.refusal === 'not_kept') outcomes.push('not_kept');
      else if (isFinal(reply.refusal)) outcomes.push('failed');
      else return { outcomes, waits: reply.refusal, pause: job ? refusing(job, plan.by) : null };
      bytes += job?.input.stored.length ?? 0;
    }
    return { outcomes, waits: null };
  }

  /** The pause that refuses a rerun of the job. Null: none does. */
  function refusing({ plugin, command }: JobView, by: string): Pause | null {
    if (plugin === pipelinePlugin) return state.pauses.rejectingRuns(command, by);
    return state.pauses.rejecting(state.lane(plugin), command, by);
  }

  function rerun(
    turn: Turn,
    job: JobView,
    { by: submittedBy, reason, from = 'start' }: ActionPlan,
  ): SkipReason | SubmitJobsReply | SubmitReply {
    const { plugin, command, status, input } = job;
    if (status === 'queued' || status === 'running') return 'not_settled';
    const payload = input.stored;
    const request = rerunRequest(job, reason, from);
    const { event, ...inherited } = request;
    if (plugin !== pipelinePlugin)
      return acceptor.take(turn, { plugin, command, payloads: [payload], submittedBy, event, ...inherited });
    const delivered = deliveredEvent(request);
    const run = { pipeline: command, payload, submittedBy, ...inherited, ...(delivered && { event: delivered }) };
    return pipeline.startRun(run, turn);
  }

  return (turn, plan, ids) => {
    const { operation, by, reason } = plan;
    switch (operation) {
      case 'rerun':
        return rerunAll(turn, plan, ids);
      case 'cancel': {
        const cancel = { by, reason, atUs: turn.nowUs, notStarted: { jobs: 0, elements: 0 } };
        return { outcomes: cancelling.cancelAll(turn, ids, cancel), waits: null };
      }
      case 'run_now':
        return { outcomes: runAllNow(options, turn, ids), waits: null };
      case 'backfill':
        throw new Error('a backfill has no jobs to act on');
    }
  };
}

/**
 * Whether a job that is refused for this reason counts as `failed`: the configuration lacks its plugin, command or pipeline. For any
 * other reason except `not_kept`, the action waits.
 */
function isFinal(refusal: Refusal): boolean {
  return refusal === 'unknown_plugin' || refusal === 'unknown_command' || refusal === 'unknown_pipeline';
}

function runAllNow(options: RunNowOptions, turn: Turn, ids: readonly JobId[]): OperationOutcome[] {
  const { reader } = options.state;
  const blocks = new BlockCache(reader, twoBlocks);
  const outcomes: OperationOutcome[] = [];
  for (const id of ids) {
    if (outcomes.length > 0 && turn.isSpent) break;
    outcomes.push(runNow(options, turn, id) ? 'done' : stillOf(readable(() => findJob(reader, id, blocks))));
  }
  options.delayed.releaseBlocks(ids.slice(0, outcomes.length));
  return outcomes;
}

/** Why the job was left as it was. */
function stillOf(job: JobView | undefined): SkipReason {
  if (!job) return 'not_found';
  return job.status === 'queued' || job.status === 'running' ? 'not_waiting' : 'already_settled';
}
