// The handlers of BullMQ's workers, in process or sandboxed: a no-op, or three steps by the pattern "process step jobs" of its guide.
import type { Job } from 'bullmq';
import { nowMs } from './peer.ts';

type Steps = { readonly step: number };

const stepCount = 3;

/** Returns the time at which it began. */
async function handle(job: Job): Promise<number> {
  const startedMs = nowMs();
  if (job.queueName === 'steps') {
    for (let { step } = job.data as Steps; step < stepCount; step++) await job.updateData({ step });
  }
  return startedMs;
}

/** BullMQ's sandbox runs the default export of a file. */
export { handle, handle as default };
