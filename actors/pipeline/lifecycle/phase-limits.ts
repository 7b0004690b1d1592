// The time limits of phases. If the service was down or a pause held the run during a phase, the limit counts from the start of the service
// or from the end of the pause.
import type { PauseTarget } from '../../job/records/pause.ts';
import type { RunDeadline } from '../records/run-deadline.ts';
import type { Run } from '../run.ts';
import type { RunTable } from '../run-table.ts';

/** While a pause holds a run, the end of its phase is put off by at least this time, so that a short limit does not pass in every turn. */
const pausedUsMin = 1_000_000;
/** The `name` of a pause of the whole service. */
const wholeService = '';

export class PhaseLimits {
  readonly #table: RunTable;
  #startedUs = 0;
  /** By pipeline, and under `wholeService`: when its last pause ended, in µs. */
  readonly #resumedUs = new Map<string, number>();

  constructor(table: RunTable) {
    this.#table = table;
  }

  started(): void {
    this.#startedUs = this.#table.turn.nowUs;
  }

  resumed(pauses: readonly PauseTarget[]): void {
    for (const { kind, name } of pauses) if (kind !== 'plugin') this.#resumedUs.set(name, this.#table.turn.nowUs);
  }

  /**
   * Called with a deadline that has passed and was removed from the run. If a pause holds the run in a phase, or the phase has time left when
   * counted from the start of the service or from the end of a pause, sets a later deadline. False: the run or its phase must be stopped.
   */
  putOff(run: Run, [us, kind]: RunDeadline): boolean {
    if (kind !== 'phase' || run.phase === null) return false;
    const { nowUs } = this.#table.turn;
    const limitUs = run.version.compiled.definition.phaseTimeoutMs! * 1000;
    const isPaused = this.#table.isPaused(run);
    const sinceUs = isPaused ? nowUs : this.#countsSince(run.version.name);
    const endUs = sinceUs + (isPaused ? Math.max(limitUs, pausedUsMin) : limitUs);
    const beganUs = us - limitUs;
    if (sinceUs <= beganUs || endUs <= nowUs) return false;
    run.phase = { ...run.phase, beganUs: run.phase.beganUs ?? beganUs };
    this.#table.deadlines.set(this.#table.batch, run, [...run.deadlines, [endUs, kind]]);
    return true;
  }

  #countsSince(pipeline: string): number {
    const resumedUs = (name: string) => this.#resumedUs.get(name) ?? 0;
    return Math.max(this.#startedUs, resumedUs(pipeline), resumedUs(wholeService));
  }
}
