// Computes the state of the queue for GET /analytics/queue (docs/contract.md#analytics) and GET /overview, and finds jobs that no host has.
import { blockOf, formatId, indexOf, jobId } from '../../../runtime/ids.ts';
import type { Dispatcher } from '../dispatch/dispatch.ts';
import type { JobState } from '../job-state.ts';
import { idsIn } from '../records/list-indexes.ts';
import { keyText } from '../records/open.ts';
import { laneState, reportedLanes } from './lane-state.ts';
import type { QueueReply } from './queue-protocol.ts';

/** The maximum number of running jobs that a response lists. */
export const activeJobsMax = 100;

export function queueState(state: JobState, dispatcher: Dispatcher, nowUs: number): QueueReply {
  let dead = 0;
  for (const counts of state.completions.counts.values()) dead += counts.dead;
  const active: QueueReply['active'][number][] = [];
  for (const { job, frame } of dispatcher.active()) {
    if (active.length === activeJobsMax) break;
    const { open, index } = job;
    const id = formatId(jobId(open.keyBytes, index));
    active.push({ jobId: id, plugin: open.plugin, command: open.command, startedUs: frame.sentUs });
  }
  const { held, paused, scheduled } = state;
  return {
    kind: 'queue',
    nowUs,
    queued: state.unsettled - state.running - state.retries.size - held,
    running: state.running,
    retrying: state.retries.size,
    held: held - paused,
    paused,
    scheduled,
    waiting: held + scheduled,
    dead,
    workers: dispatcher.threads,
    utilization: Math.min(1, dispatcher.utilization(nowUs)),
    active,
    lanes: reportedLanes(state).map(lane => laneState(state, lane)),
  };
}

/** The ids of those jobs among `ids` (16 bytes each) that no host has. */
export function idleOf(dispatcher: Dispatcher, ids: Uint8Array): Uint8Array {
  const held = new Set<string>();
  for (const { job } of dispatcher.active()) held.add(`${job.open.key}${job.index}`);
  return Buffer.concat(idsIn(ids).filter(id => !held.has(`${keyText(blockOf(id))}${indexOf(id)}`)));
}
