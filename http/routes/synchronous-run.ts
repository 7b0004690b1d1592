// A pipeline call that waits: for the run, its time-out, or the caller to go away, whichever comes first.

import type { SubmitReply } from '../../actors/job/protocol.ts';
import type { Status } from '../../actors/job/records/job.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { settledParts, treeJobsMax } from '../../service/json/job.ts';
import type { RunSubmission } from '../../service/submissions.ts';
import { type Answer, json } from '../answer.ts';
import { inPieces } from '../pieces.ts';
import { answerRead } from '../read-answer.ts';
import type { Call } from '../route.ts';

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
    if (how === 'settled') return { kind: 'waited', answer: await settled(call, reply.id) };
    if (how === 'stopped') return { kind: 'waited', answer: stopped(reply.id) };
    engine.unwatch(reply.id, end);
    return { kind: 'waited', answer: unfinished(reply.id, timeoutMs) };
  } finally {
    clearTimeout(timer);
  }
}

/** A tree of few jobs that are small is written here; any other on the thread for reads. */
async function settled(call: Pick<Call, 'engine' | 'onGone'>, id: JobId): Promise<Answer> {
  const { engine } = call;
  const tree = engine.smallTree(id, treeJobsMax + 1);
  if (tree) return inPieces(settledParts(tree));
  const answer = await answerRead(call, { kind: 'run', id });
  // The run is over: to refuse the call would have it repeated.
  if (answer.kind !== 'problem' || answer.code === 'unknown_job') return answer;
  return unshown(id, engine.job(id)?.status ?? 'running');
}

function unfinished(id: JobId, timeoutMs: number): Answer {
  const text = formatId(id);
  return running(
    id,
    true,
    `The run did not finish within ${timeoutMs / 1000} s. It continues; follow it at /job/${text}.`,
  );
}

function stopped(id: JobId): Answer {
  const text = formatId(id);
  return running(
    id,
    false,
    `The service is stopping, and the run continues at its next start. Follow it at /job/${text}.`,
  );
}

function unshown(id: JobId, status: Status): Answer {
  const text = formatId(id);
  return pointed(id, status, false, `The run has settled, but cannot be shown right now; look at /job/${text}/tree.`);
}

function running(id: JobId, isLate: boolean, message: string): Answer {
  return pointed(id, 'running', isLate, message);
}

function pointed(id: JobId, status: Status, isLate: boolean, message: string): Answer {
  return json(
    202,
    `{"job_id":"${formatId(id)}","status":"${status}","timeout_exceeded":${isLate},"message":${JSON.stringify(message)}}`,
  );
}
