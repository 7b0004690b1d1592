// The numbers of queued jobs by plugin and command, calculated from counters. A job is queued if it is unsettled and no host has it.

import type { JobFrame } from '../dispatch/job-frame.ts';
import type { JobState } from '../job-state.ts';
import type { CountedJobs, HeldQuery, HeldReply, QueuedJobs } from '../protocol.ts';
import { countsKey } from '../records/counts.ts';
import type { Hold } from '../records/hold.ts';
import { isHosted } from '../records/job.ts';

/** `frames`: all frames that hosts have. */
export function queuedJobs(unsettled: Iterable<CountedJobs>, frames: readonly JobFrame[]): CountedJobs[] {
  const running = new Map<string, number>();
  for (const { lane, command, unreportedCount: left } of frames) {
    const key = countsKey(lane.name, command.name);
    running.set(key, (running.get(key) ?? 0) + left);
  }
  const queued: CountedJobs[] = [];
  for (const { plugin, command, jobs: all, delayed } of unsettled) {
    const jobs = all - (running.get(countsKey(plugin, command)) ?? 0);
    if (jobs > 0 && isHosted(plugin)) queued.push({ plugin, command, jobs, delayed });
  }
  return queued;
}

/**
 * The held jobs among the queued ones. Delayed jobs are left out, because they are held only once they are due. Jobs that only a pause holds
 * are left out, because they are meant to wait. Jobs that a pause and another hold keep waiting are included.
 */
export function heldOf(state: JobState, queued: readonly CountedJobs[]): (QueuedJobs & { readonly hold: Hold })[] {
  return queued.flatMap(({ plugin, command, jobs, delayed }) => {
    const hold = state.lane(plugin).holdBesidesPauses(command);
    return hold && jobs > delayed ? [{ plugin, command, jobs: jobs - delayed, hold }] : [];
  });
}

/**
 * The queued jobs that a configuration with exactly the commands of `next` would hold. Jobs that are held already, other than by a pause,
 * are left out.
 */
function wouldBeHeld(
  state: JobState,
  queued: readonly QueuedJobs[],
  next: { readonly [plugin: string]: readonly string[] },
): QueuedJobs[] {
  return queued.filter(({ plugin, command }) => {
    const has = Object.hasOwn(next, plugin) && next[plugin]!.includes(command);
    return !has && state.lane(plugin).holdBesidesPauses(command) === null;
  });
}

/** Answers which jobs are held or, with `next`, which further jobs that configuration would hold. */
export function heldReply(state: JobState, queued: readonly CountedJobs[], { next }: HeldQuery): HeldReply {
  const held = next
    ? wouldBeHeld(state, queued, next).map(jobs => ({ ...jobs, detail: '', sinceUs: 0 }))
    : heldOf(state, queued).map(({ hold: { detail, sinceUs }, ...jobs }) => ({ ...jobs, detail, sinceUs }));
  return { kind: 'held', held };
}
