// A pipeline call that waits: for the run, its time-out, or the caller to go away, whichever comes first.
import type { SubmitReply } from '../../actors/job/protocol.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import type { Engine, RunSubmission } from '../engine.ts';
import { writeTreeEntry } from '../job-json.ts';
import { problem } from '../problem.ts';
import { type Answer, type Call, json } from '../route.ts';

/** How many jobs the tree of an answer holds at most. */
export const treeJobsMax = 1_000;

export type RunOutcome = SubmitReply | { readonly kind: 'waited'; readonly answer: Answer };

/** Starts the run and waits at most so long for it. */
export async function runAndWait(
  call: Pick<Call, 'engine' | 'onGone'>,
  submission: RunSubmission,
  timeoutMs: number,
): Promise<RunOutcome> {
  const { engine } = call;
  let end!: (how: 'settled' | 'timed_out' | 'gone') => void;
  const ended = new Promise<'settled' | 'timed_out' | 'gone'>(resolve => {
    end = resolve;
  });
  call.onGone(() => end('gone'));
  const timer = setTimeout(() => end('timed_out'), timeoutMs);
  try {
    const onSettled = () => end('settled');
    const reply = await engine.startRun(submission, onSettled);
    if (reply.kind === 'refused') return reply;
    const how = await ended;
    if (how !== 'settled') engine.unwatch(reply.id, onSettled);
    return { kind: 'waited', answer: how === 'settled' ? settled(engine, reply.id) : unfinished(reply.id, timeoutMs) };
  } finally {
    clearTimeout(timer);
  }
}

function settled(engine: Engine, id: JobId): Answer {
  const tree = engine.tree(id, treeJobsMax + 1);
  const run = tree?.[0];
  // A repeated call can come to a run that retention has pruned meanwhile.
  if (!run || !tree) return problem('unknown_job', `the run ${formatId(id)} is no longer kept`);
  const durationMs = Math.round(((run.completedUs ?? run.createdUs) - run.createdUs) / 1000);
  const isCut = tree.length > treeJobsMax;
  const entries = (isCut ? tree.slice(0, treeJobsMax) : tree).map(writeTreeEntry).join(',');
  return json(
    200,
    `{"job_id":"${run.jobId}","status":"${run.status}","duration_ms":${durationMs},` +
      `"result":${JSON.stringify(run.output)},"tree":[${entries}]${isCut ? ',"tree_truncated":true' : ''}}`,
  );
}

function unfinished(id: JobId, timeoutMs: number): Answer {
  const text = formatId(id);
  const message = `The run did not finish within ${timeoutMs / 1000} s and goes on; follow it at /job/${text}.`;
  return json(
    202,
    `{"job_id":"${text}","status":"running","timeout_exceeded":true,"message":${JSON.stringify(message)}}`,
  );
}
