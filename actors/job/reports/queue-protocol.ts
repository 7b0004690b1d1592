// The main thread's query for the state of the queue and of its lanes, and the reply.
import type { ReplyTo } from '../../../runtime/turn.ts';
import type { Hold } from '../records/hold.ts';

/** From the main thread: what is the state of the queue? Answered with a QueueReply. */
export type QueueQuery = { readonly kind: 'ask_queue'; readonly replyTo: ReplyTo };
export type QueueReply = {
  readonly kind: 'queue';
  /** The time of the reply, in µs since the epoch. After the clock was set back, this can be later than the time of the main thread. */
  readonly nowUs: number;
  readonly queued: number;
  readonly running: number;
  /** The number of jobs that wait for the time of their next attempt. */
  readonly retrying: number;
  /** The number of jobs that are held for a reason other than a pause. */
  readonly held: number;
  /** The number of jobs that a pause holds. */
  readonly paused: number;
  /** The number of delayed jobs and runs, whose time to run has not come. */
  readonly scheduled: number;
  /** The sum of `held`, `paused` and `scheduled`. */
  readonly waiting: number;
  readonly dead: number;
  readonly workers: number;
  /** The average share of the workers that were busy in the last minute, from 0 to 1. At each moment, the busiest kind of worker counts. */
  readonly utilization: number;
  readonly active: readonly {
    readonly jobId: string;
    readonly plugin: string;
    readonly command: string;
    readonly startedUs: number;
  }[];
  readonly lanes: readonly LaneState[];
};

/** The states of a circuit breaker (breaker.ts). */
export const breakerStates = ['closed', 'open', 'half_open'] as const;
export type BreakerState = (typeof breakerStates)[number];

export type LaneState = {
  readonly plugin: string;
  readonly active: number;
  /** The number of jobs that wait in the lane, including the held jobs. */
  readonly queued: number;
  /** The number of jobs that are held, by a pause or for another reason. */
  readonly held: number;
  /** The plugin's `parallelism`. Null: it sets none, or the plugin is disabled or not configured. */
  readonly limit: number | null;
  /**
   * The earliest time, in µs, at which a job at the head of one of the lane's queues became ready to run. Held jobs count, too. Null: no job
   * waits.
   */
  readonly oldestUs: number | null;
  /** The hold of all jobs of the lane. Null: there is none. */
  readonly hold: LaneHold | null;
  /** The state of the plugin's circuit breaker. Null: it has none. */
  readonly breaker: BreakerState | null;
  /** Whether the jobs run one at a time in the host for isolated plugins, because they have recently ended several hosts. */
  readonly isIsolated: boolean;
};

export type LaneHold = Readonly<Pick<Hold, 'reason' | 'detail' | 'sinceUs' | 'untilUs'>>;
