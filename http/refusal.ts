// The messages that tell callers why their work is refused.
import type { Refusal, RefusedWork } from '../actors/job/protocol.ts';
import { type HttpProblem, problem } from './problem.ts';

export const refusalDetails: { readonly [R in Refusal]: string } = {
  queue_full: 'the queue is full',
  too_many_waiting:
    'too many jobs are delayed, paused or held (service.max_waiting), and this one may have to wait as well',
  too_many_actions: 'too many actions are open',
  paused: 'a pause refuses new calls; GET /pauses shows it',
  disk_full: 'the disk is full: nothing new can be stored',
  stopping: 'the service is shutting down',
  unavailable: 'the service cannot accept work now',
  overloaded: 'too many payload bytes are waiting to be stored',
  unknown_plugin: 'the plugin no longer exists',
  unknown_command: 'the command no longer exists',
  unknown_pipeline: 'the pipeline no longer exists',
  not_kept: 'the input, definition or results of the old job are no longer stored',
  idempotency_mismatch: 'the Idempotency-Key was used for another request',
};

/**
 * The refusal as a problem. If the refusal has a known end (`untilUs`), Retry-After has the seconds from `nowMs` to this end, at
 * least 1.
 */
export function refusalProblem({ refusal, untilUs }: RefusedWork, detail: string, nowMs: number): HttpProblem {
  if (untilUs === undefined) return problem(refusal, detail);
  const seconds = Math.max(1, Math.ceil(untilUs / 1e6 - nowMs / 1000));
  return problem(refusal, detail, { headers: [['Retry-After', String(seconds)]] });
}
