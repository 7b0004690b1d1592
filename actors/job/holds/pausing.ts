// Begins and ends pauses: on request, when they expire, and for breakers.
import type { Turn } from '../../../runtime/turn.ts';
import type { Lane } from '../dispatch/lane.ts';
import type { JobState } from '../job-state.ts';
import { writeHoldEnd } from '../records/hold-ends.ts';
import { breakerName, type Pause, type PauseTarget, restoreName } from '../records/pause.ts';
import type { PauseRequest } from './pause-protocol.ts';

/**
 * Begins a requested pause. Its length counts from the time of the ledger, which may be ahead of the system's clock. That time then runs at
 * half speed (runtime/clock.ts): when the clock reaches the requested end, at least half of the length has passed.
 */
export function beginRequested(state: JobState, turn: Turn, request: PauseRequest): Pause {
  const { lastsUs, untilUs: endUs, ...pause } = request;
  const sinceUs = turn.nowUs;
  if (lastsUs === undefined) return beginPause(state, turn, { ...pause, sinceUs, untilUs: endUs });
  if (endUs === null) return beginPause(state, turn, { ...pause, sinceUs, untilUs: sinceUs + lastsUs, lastsUs });
  const untilUs = Math.max(endUs, sinceUs + Math.ceil(lastsUs / 2));
  return beginPause(state, turn, { ...pause, sinceUs, untilUs, ...(untilUs !== endUs && { endUs }) });
}

/**
 * Called in the first turn. If the system's clock was ahead, and was set back before the start, the stored pauses may have begun in the
 * future, and would last longer by as much as the clock was ahead.
 */
export function shortenPauses(state: JobState, turn: Turn): void {
  state.pauses.shorten(turn);
  state.reviewHolds();
}

/**
 * Begins a pause and returns it. If the service is paused because its state was restored, a new pause of the service takes over the `by` of
 * that pause: until a caller resumes the service, it still counts as restored (`Pauses.ofRestore`).
 */
function beginPause(state: JobState, turn: Turn, wanted: Pause): Pause {
  const pause = wanted.kind === 'system' && state.pauses.ofRestore ? { ...wanted, by: restoreName } : wanted;
  state.pauses.put(turn, pause);
  announce(state, turn, 'paused', pause, wanted.by);
  return pause;
}

/** Ends the pause of the target and returns it; null: there is none. */
export function endPause(state: JobState, turn: Turn, target: PauseTarget, by: string): Pause | null {
  const pause = state.pauses.remove(turn, target);
  if (pause) {
    noteEnd(state, turn, pause);
    announce(state, turn, 'resumed', pause, by);
  }
  return pause;
}

/**
 * Handles a pause that has expired: ends the pause or, if the breaker that began it is still configured, makes this breaker half
 * open.
 */
export function endInTime(state: JobState, turn: Turn, pause: Pause): void {
  if (pause.by !== breakerName || !state.lane(pause.name).breaker) {
    endPause(state, turn, pause, 'until');
    return;
  }
  state.pauses.probe(pause);
  noteEnd(state, turn, pause);
  state.reviewHolds();
}

/**
 * Counts an ended attempt of a lane. An attempt of a trial job closes the half-open breaker, or opens it again; any other attempt is counted
 * by the lane's own breaker. `sentUs`: when the attempt was dispatched.
 */
export function countEnd(state: JobState, turn: Turn, lane: Lane, hasFailed: boolean, sentUs: number): void {
  const { name, breaker, probe } = lane;
  if (probe && sentUs >= probe.sinceUs) {
    const { plugin } = probe;
    const reason = plugin === name ? 'its trial job failed' : `the trial job of ${name} failed`;
    if (hasFailed) open(state, turn, state.lane(plugin), reason);
    else endPause(state, turn, { kind: 'plugin', name: plugin, command: null }, breakerName);
    return;
  }
  if (!breaker || state.pauses.ofInstance(name)) return;
  const { failures, of } = breaker.limits;
  if (breaker.isTripped(hasFailed)) open(state, turn, lane, `${failures} of its last ${of} attempts failed`);
}

function open(state: JobState, turn: Turn, { name, breaker }: Lane, reason: string): void {
  const sinceUs = turn.nowUs;
  const lastsUs = breaker!.limits.forMs * 1000;
  const target = { kind: 'plugin', name, command: null } as const;
  const times = { sinceUs, untilUs: sinceUs + lastsUs, lastsUs };
  beginPause(state, turn, { ...target, reason, by: breakerName, ...times, rejects: false });
}

/**
 * Records the end of a pause of a plugin, a command or the service, for the stopwatch and the metrics: from now on the jobs that the pause
 * held can run, unless another hold applies to them.
 */
function noteEnd({ reader, lanes }: JobState, turn: Turn, { kind, name, command }: PauseTarget): void {
  if (kind === 'pipeline') return;
  const write = (plugin: string) =>
    writeHoldEnd(reader, turn.batch, { atUs: turn.nowUs, plugin, command: command ?? '' });
  if (kind === 'system') write('');
  for (const lane of lanes.values()) {
    if (kind === 'plugin' && lane.name !== name && !lane.instance?.bases?.includes(name)) continue;
    lane.noteFreed(command, turn.nowUs);
    if (kind === 'plugin') write(lane.name);
  }
}

function announce(state: JobState, turn: Turn, change: 'paused' | 'resumed', pause: Pause, by: string): void {
  state.reviewHolds();
  state.observations.plain(`${pause.kind}.${change}`, turn.nowUs, fieldsOf(pause, by));
}

/** The fields of the observation that reports a pause or its end. */
function fieldsOf({ kind, name, command, reason, untilUs }: Pause, by: string) {
  return {
    ...(kind !== 'system' && { [kind]: name }),
    ...(command !== null && { command }),
    by,
    ...(reason !== null && { reason }),
    ...(untilUs !== null && { until: new Date(untilUs / 1000).toISOString() }),
  };
}
