// Queues single attempts, for instance those that a host has returned.
import { isExempt } from '../holds/exempt.ts';
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';

/** Queues an attempt: for the quarantine if its job is exempt from the pause of the service, otherwise in its lane. */
export function enqueue(state: JobState, job: OpenAttempt): void {
  if (isExempt(state, job)) state.suspects.push(job);
  else state.lane(job.open.plugin).enqueueAttempt(job);
}
