// Says why a job waits in the queue of its schedule.
import { formatId, type JobId } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { readSchedule } from '../records/schedule.ts';

/** `context`: the packed baggage of the job, which names its schedule. */
export function queueText(reader: Reader, context: Uint8Array, job: JobId): string {
  const { id } = unpack<{ readonly schedule: { readonly id: string } }>(context).schedule;
  const record = readSchedule(reader, id);
  if (record?.pause) return `the schedule ${id} is paused`;
  const before =
    record?.queue.findIndex(waiting => waiting.job !== null && Buffer.compare(waiting.job, job) === 0) ?? 0;
  const others = before > 0 ? `; ${before} ${before === 1 ? 'job begins' : 'jobs begin'} before this one` : '';
  if (!record?.isRunning || record.last === null) return `its turn in the schedule ${id} has not come${others}`;
  return `the job ${formatId(record.last)} of the schedule ${id} has not ended${others}`;
}
