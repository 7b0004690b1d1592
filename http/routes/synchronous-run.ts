// A pipeline call that waits until its run ends, its time-out passes, or its caller disconnects.

import type { SubmitReply } from '../../actors/job/protocol.ts';
import type { Status } from '../../actors/job/records/job.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { settledParts, treeJobsMax } from '../../service/json/job.ts';
import type { RunSubmission } from '../../service/submissions.ts';
import { type Answer, answerRead, json, smallAnswer } from '../answer.ts';
import type { HttpCall } from '../route.ts';

export type RunOutcome = SubmitReply | { readonly kind: 'waited'; readonly answer: Answer };

type WaitEnd = 'settled' | 'stopped' | 'timed_out' | 'gone';

/** Starts the run and waits for it, for at most `timeoutMs`. */
export async function runAndWait(
  call: Pick<HttpCall, 'engine' | 'onGone'>,
  submission: RunSubmission,
  timeoutMs: number,
): Promise<RunOutcome> {
  const { engine } = call;
  let end!: (how: WaitEnd) => void;
  const ended = new Promise<WaitEnd>(resolve => {
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

/** A small tree is written on this thread, any other on the reads thread. */
async function settled(call: Pick<HttpCall, 'engine' | 'onGone'>, id: JobId): Promise<Answer> {
  const { engine } = call;
  const tree = engine.smallTree(id, treeJobsMax + 1);
  if (tree) return smallAnswer(settledParts(tree));
  const answer = await answerRead(call, { kind: 'run', id });
  // The run has ended: a refusal would make the caller repeat it.
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
