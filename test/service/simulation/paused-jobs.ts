// The number of jobs that pauses hold, as the ledger counts it while jobs come and go, compared with a count over all waiting jobs.
import type { Lane } from '../../../actors/job/dispatch/lane.ts';
import { holds } from './broken.ts';

export function checkPaused(lanes: readonly Lane[], counted: number): void {
  const found = lanes.reduce((jobs, lane) => jobs + pausedIn(lane), 0);
  holds(counted === found, () => `the ledger counts ${counted} paused jobs, and ${found} are`);
}

function pausedIn(lane: Lane): number {
  if (lane.hold) return lane.hold.reason === 'paused' ? lane.queued : 0;
  const isPaused = (command: string) => lane.holdOf(command)?.reason === 'paused';
  let jobs = 0;
  for (const backlog of [lane, ...lane.heldByCommand.values()]) {
    for (const { open } of backlog.attempts) if (isPaused(open.command)) jobs++;
    for (const open of backlog.blocks) if (isPaused(open.command)) jobs += open.untouched;
  }
  return jobs;
}
