// Pauses begin and end: by operators, by their time, and by the breakers of plugins.
import type { Turn } from '../../runtime/turn.ts';
import { breakerName } from './breaker.ts';
import type { JobState } from './job-state.ts';
import type { Lane } from './lane.ts';
import type { Pause, PauseTarget } from './records/pause.ts';

export function beginPause(state: JobState, turn: Turn, pause: Pause): void {
  state.pauses.put(turn, pause);
  announce(state, turn, 'paused', pause, pause.by);
}

/** The pause that has ended; null: the target had none. */
export function endPause(state: JobState, turn: Turn, target: PauseTarget, by: string): Pause | null {
  const pause = state.pauses.remove(turn, target);
  if (pause) announce(state, turn, 'resumed', pause, by);
  return pause;
}

/** The time of the pause is over. One by a breaker is half open from now on. */
export function endInTime(state: JobState, turn: Turn, pause: Pause): void {
  if (pause.by !== breakerName || !state.lane(pause.name).breaker) {
    endPause(state, turn, pause, 'until');
    return;
  }
  state.pauses.probe(pause, turn.nowUs);
  state.reviewHolds();
}

/** An attempt of the lane, which has a breaker, has ended. `sentUs`: when it was dispatched. */
export function countEnd(state: JobState, turn: Turn, lane: Lane, hasFailed: boolean, sentUs: number): void {
  const { name, probingSinceUs } = lane;
  const breaker = lane.breaker!;
  const paused = state.pauses.ofInstance(name);
  if (paused) {
    // What was dispatched before the pause decides nothing.
    if (probingSinceUs === null || sentUs < probingSinceUs) return;
    if (hasFailed) open(state, turn, lane, 'the job that it let out failed');
    else endPause(state, turn, paused, breakerName);
    return;
  }
  const { failures, of } = breaker.limits;
  if (breaker.isTripped(hasFailed)) open(state, turn, lane, `${failures} of its last ${of} attempts failed`);
}

function open(state: JobState, turn: Turn, { name, breaker }: Lane, reason: string): void {
  const sinceUs = turn.nowUs;
  const untilUs = sinceUs + breaker!.limits.forMs * 1000;
  const target = { kind: 'plugin', name, command: null } as const;
  beginPause(state, turn, { ...target, reason, by: breakerName, sinceUs, untilUs, rejects: false });
}

function announce(state: JobState, turn: Turn, change: 'paused' | 'resumed', pause: Pause, by: string): void {
  state.reviewHolds();
  state.observations.plain(`${pause.kind}.${change}`, turn.nowUs, fieldsOf(pause, by));
}

/** What the event of a pause, or of its end, says. */
function fieldsOf({ kind, name, command, reason, untilUs }: Pause, by: string) {
  return {
    ...(kind !== 'system' && { [kind]: name }),
    ...(command !== null && { command }),
    by,
    ...(reason !== null && { reason }),
    ...(untilUs !== null && { until: new Date(untilUs / 1000).toISOString() }),
  };
}
