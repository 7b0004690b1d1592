// A pipeline call that waits: for the run, its time-out, or the caller to go away, whichever comes first.
import type { JobView } from '../../actors/job/job-view.ts';
import type { SubmitReply } from '../../actors/job/protocol.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import type { Engine, RunSubmission } from '../engine.ts';
import { outputParts, treeEntryParts } from '../job-json.ts';
import type { JsonPart } from '../json-pieces.ts';
import { inPieces } from '../pieces.ts';
import { problem } from '../problem.ts';
import { type Answer, type Call, json } from '../route.ts';

/** How many jobs the tree of an answer holds at most. */
export const treeJobsMax = 1_000;

export type RunOutcome = SubmitReply | { readonly kind: 'waited'; readonly answer: Answer };

type End = 'settled' | 'stopped' | 'timed_out' | 'gone';

/** Starts the run and waits at most so long for it. */
export async function runAndWait(
  call: Pick<Call, 'engine' | 'onGone'>,
  submission: RunSubmission,
  timeoutMs: number,
): Promise<RunOutcome> {
  const { engine } = call;
  let end!: (how: End) => void;
  const ended = new Promise<End>(resolve => {
    end = resolve;
  });
  call.onGone(() => end('gone'));
  const timer = setTimeout(() => end('timed_out'), timeoutMs);
  try {
    const reply = await engine.startRun(submission, end);
    if (reply.kind === 'refused') return reply;
    const how = await ended;
    if (how === 'settled') return { kind: 'waited', answer: settled(engine, reply.id) };
    if (how === 'stopped') return { kind: 'waited', answer: stopped(reply.id) };
    engine.unwatch(reply.id, end);
    return { kind: 'waited', answer: unfinished(reply.id, timeoutMs) };
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
  return inPieces(settledParts(run, durationMs, tree));
}

/** The run is the first job of its tree. */
function* settledParts(run: JobView, durationMs: number, tree: readonly JobView[]): Iterable<JsonPart> {
  yield `{"job_id":"${run.jobId}","status":"${run.status}","duration_ms":${durationMs},"result":`;
  // Written once for both its places.
  const output = outputParts(run);
  yield* output;
  let separator = ',"tree":[';
  for (const job of tree.slice(0, treeJobsMax)) {
    yield separator;
    yield* treeEntryParts(job, job === run ? output : undefined);
    separator = ',';
  }
  yield tree.length > treeJobsMax ? '],"tree_truncated":true}' : ']}';
}

function unfinished(id: JobId, timeoutMs: number): Answer {
  const text = formatId(id);
  return running(
    id,
    true,
    `The run did not finish within ${timeoutMs / 1000} s and goes on; follow it at /job/${text}.`,
  );
}

function stopped(id: JobId): Answer {
  const text = formatId(id);
  return running(id, false, `The service is stopping; the run goes on at its next start; follow it at /job/${text}.`);
}

function running(id: JobId, isLate: boolean, message: string): Answer {
  return json(
    202,
    `{"job_id":"${formatId(id)}","status":"running","timeout_exceeded":${isLate},"message":${JSON.stringify(message)}}`,
  );
}
