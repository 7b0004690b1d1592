// Answers a pipeline call that waits until its run ends, the timeout passes, the caller disconnects, or the service stops.

import type { RefusedWork } from '../../actors/job/protocol.ts';
import type { Status } from '../../actors/job/records/job.ts';
import { formatId, type JobId } from '../../runtime/ids.ts';
import { waitersMax } from '../../service/job-waiters.ts';
import { settledParts, treeJobsMax } from '../../service/json/job.ts';
import type { RunSubmission } from '../../service/submissions.ts';
import { type Answer, answerRead, json, smallAnswer, withHeaders } from '../answer.ts';
import { minimalApplied, prefersMinimal } from '../prefer.ts';
import type { HttpCall } from '../route.ts';
import { type Wait, waitedAnswer } from '../wait.ts';
import { unknownJob } from './jobs.ts';
import { submitAndWait, type WaitingCall, type WaitResult } from './waiting.ts';

/**
 * Starts the run and waits for its end, for at most the shorter of `timeoutMs` and the wait that the caller wants. With
 * `Prefer: return=minimal`, the answer has no tree.
 */
export async function runAndWait(
  call: RunCall & Pick<HttpCall, 'submitted'>,
  submission: RunSubmission,
  timeoutMs: number,
  wait: Wait | null,
): Promise<Answer | RefusedWork> {
  const waitMs = Math.min(timeoutMs, wait?.ms ?? timeoutMs);
  const waited = await submitAndWait(call, waitMs, end => call.engine.startRun(submission, end));
  if (waited.kind === 'refused') return waited;
  call.submitted = waited.id;
  const answer = await answerRun(call, waited, waitMs);
  return wait ? waitedAnswer(answer, wait, waited.how) : answer;
}

type RunCall = WaitingCall & Pick<HttpCall, 'headerList' | 'callerNow'>;

function answerRun(call: RunCall, { id, how }: WaitResult, waitMs: number): Answer | Promise<Answer> {
  const place = `/job/${formatId(id)}`;
  if (how === 'settled') return settled(call, id);
  if (how === 'timed_out' || how === 'gone') {
    const late = `The run did not finish within ${waitMs / 1000} s. It continues; follow it at ${place}.`;
    return pointed(id, 'running', late, true);
  }
  const messages = {
    stopped: `The service is stopping, and the run continues at its next start. Follow it at ${place}.`,
    crowded: `Too many callers wait (at most ${waitersMax}). The run continues; follow it at ${place}.`,
  };
  return pointed(id, 'running', messages[how]);
}

/**
 * Answers with the result of a run that has ended, and with its tree unless the caller wants none. If the token has lost its access during
 * the wait, answers without the result. A small answer is written on this thread, any other on the reads thread.
 */
async function settled(call: RunCall, id: JobId): Promise<Answer> {
  const { engine } = call;
  if (call.callerNow() === undefined)
    return unshown(call, id, 'The run has settled, but the token has lost its access.');
  const isMinimal = prefersMinimal(call.headerList('prefer'));
  const applied = (answer: Answer): Answer => (isMinimal ? withHeaders(answer, minimalApplied) : answer);
  const jobs = engine.smallTree(id, isMinimal ? 1 : treeJobsMax + 1);
  if (jobs) return applied(smallAnswer(settledParts(jobs, !isMinimal)));
  const answer = await answerRead(call, { kind: 'run', id, withTree: !isMinimal });
  // If the run cannot be read now, the answer is 202 with its id, because after a refusal the caller might run the pipeline again.
  if (answer.kind !== 'problem') return applied(answer);
  if (answer.code === 'unknown_job') return answer;
  return unshown(call, id, `The run has settled, but cannot be shown right now; look at /job/${formatId(id)}/tree.`);
}

function unshown({ engine }: RunCall, id: JobId, message: string): Answer {
  const job = engine.job(id);
  if (!job) return unknownJob(formatId(id));
  return pointed(id, job.status, message);
}

/** The answer 202, which tells the caller where to find the run. `isLate`: the time of the wait is over. */
function pointed(id: JobId, status: Status, message: string, isLate = false): Answer {
  return json(
    202,
    `{"job_id":"${formatId(id)}","status":"${status}","timeout_exceeded":${isLate},"message":${JSON.stringify(message)}}`,
  );
}
