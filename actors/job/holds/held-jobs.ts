// Handles held jobs, some per turn. Jobs of a held command are moved out of the way of other commands, and back into their lane when the
// hold ends. `lost` attempts whose commands are available again are charged. The jobs of holds that have lasted too long are ended.
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { endUnstarted } from '../cancel/cancelled-jobs.ts';
import { chargeLost } from '../custody.ts';
import type { Backlog } from '../dispatch/backlog.ts';
import type { Lane } from '../dispatch/lane.ts';
import type { JobState } from '../job-state.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import type { Hold } from '../records/hold.ts';

/**
 * While the command of the lane's next job is missing or paused, moves the job, or its whole block, to the backlog of this command. Makes
 * at most `movesMax` moves, and returns their number.
 */
export function moveToHeld(lane: Lane, movesMax: number): number {
  let moves = 0;
  for (let name = lane.nextCommand; name !== undefined && moves < movesMax; name = lane.nextCommand) {
    if (lane.runnable(name)) break;
    lane.moveNextTo(lane.heldBacklog(name));
    moves++;
  }
  return moves;
}

/** Moves held jobs back into the lane if their command can run again. Returns the number of moves. */
function takeBack(lane: Lane, movesMax: number): number {
  let moves = 0;
  for (const [name, backlog] of lane.heldByCommand) {
    if (!lane.runnable(name)) continue;
    for (; backlog.waiting > 0 && moves < movesMax; moves++) backlog.moveNextTo(lane);
    if (backlog.waiting === 0) lane.heldByCommand.delete(name);
  }
  return moves;
}

/**
 * Charges `lost` attempts whose commands are available again. Moves jobs back into their lane if their command can run again. Ends the jobs
 * of holds that have lasted too long. `max`: the maximum number of jobs that are charged, moved or ended. Moving a whole block counts as
 * one.
 */
export function advanceHolds(
  state: JobState,
  turn: Turn,
  max: number,
): { readonly moved: number; readonly ended: number } {
  let moved = 0;
  for (const lane of state.lanes.values()) {
    if (lane.lost.length > 0) moved += chargeLost(state, turn, lane, max - moved);
    if (lane.heldByCommand.size > 0) moved += takeBack(lane, max - moved);
  }
  let ended = 0;
  for (const hold of state.holds.expired(turn.nowUs, state.config.state.retention.heldMs * 1000)) {
    ended += failHeld(state, turn, hold, max - moved - ended);
  }
  return { moved, ended };
}

function failHeld(state: JobState, turn: Turn, hold: Hold, max: number): number {
  const { plugin, command, sinceUs, detail } = hold;
  const lane = state.lane(plugin);
  const reason = `held since ${new Date(sinceUs / 1000).toISOString()} and never run: ${detail}`;
  const backlogs = command === null ? [lane, ...lane.heldByCommand.values()] : [lane.heldBacklog(command)];
  let ended = 0;
  for (const backlog of backlogs) ended += failBacklog(state, turn, backlog, reason, max - ended);
  if (command !== null) ended += failOfLane(state, turn, lane, command, reason, max - ended);
  const isHeld = ({ open }: OpenAttempt): boolean =>
    open.plugin === plugin && lane.holdBesidesPauses(open.command) === hold;
  for (const list of [lane.lost, state.suspects]) {
    for (let at = list.findIndex(isHeld); at >= 0 && ended < max; at = list.findIndex(isHeld)) {
      endUnrun(state, turn, list.splice(at, 1)[0]!, reason);
      ended++;
    }
  }
  return ended;
}

/**
 * Ends the next jobs of the backlog, at most `jobsMax`: as failed with this reason or, if a job was cancelled or is past its deadline,
 * as cancelled or timed out. Returns the number of ended jobs.
 */
function failBacklog(state: JobState, turn: Turn, backlog: Backlog, reason: string, jobsMax: number): number {
  let jobs = 0;
  for (; jobs < jobsMax; jobs++) {
    const job = backlog.shift();
    if (!job) break;
    endUnrun(state, turn, job, reason);
  }
  return jobs;
}

/**
 * Like `failBacklog`, for jobs of the command that have not been moved to its own backlog yet: their lane is paused or has no room, or they
 * wait behind other jobs.
 */
function failOfLane(state: JobState, turn: Turn, lane: Lane, command: string, reason: string, jobsMax: number): number {
  if (lane.waitingOf(command) === 0) return 0;
  let jobs = 0;
  for (const job of lane.jobsOf(command)) {
    if (jobs === jobsMax) break;
    if (!lane.withdraw(job.open, job.index)) lane.changeWaiting(command, -1);
    endUnrun(state, turn, job, reason);
    jobs++;
  }
  return jobs;
}

function endUnrun(state: JobState, turn: Turn, job: OpenAttempt, reason: string): void {
  const stop = state.stopOf(job, turn.nowUs);
  if (stop) endUnstarted(state, turn, job, stop);
  else state.end(turn, job, 'failed', null, encodeBody({ error: Buffer.from(reason) }), 'queued');
}
