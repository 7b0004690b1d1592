// The handlers of BullMQ's workers, in process or sandboxed: a no-op, or three steps, which follow the pattern "process
// step jobs" of BullMQ's guide.
import type { Job } from 'bullmq';
import { nowMs } from './peer.ts';

type Steps = { readonly step: number };

const stepCount = 3;

/** Handles a job of any queue. Resolves with the time at which it began, in ms since the epoch. */
async function handle(job: Job): Promise<number> {
  const startedMs = nowMs();
  if (job.queueName === 'steps') {
    for (let { step } = job.data as Steps; step < stepCount; step++) await job.updateData({ step });
  }
  return startedMs;
}

/** BullMQ's sandbox runs the default export of a file. */
export { handle, handle as default };
