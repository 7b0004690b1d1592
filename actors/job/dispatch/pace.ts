// Chooses how many jobs of a command a frame may have: as many as fit into a target time, given how long jobs have taken so far.

export const frameUsTarget = 2_000;
/** The target time of a frame of programs. A shorter frame would have only a few programs, and each frame costs a commit. */
export const programsUsTarget = 20_000;
export const frameTasksMax = 512;
/** How many full frames a place of a host may have if all its frames are short: one runs, and one waits behind it. */
export const framesPerPlace = 2;
/** The share of a full frame (`JobFrame.share`). */
export const fullShare = 1_000;
/** Each measurement enlarges the frames at most by this factor, which limits the cost of a wrong estimate. */
const growth = 8;
/** The weight of the newest measurement in a falling estimate. */
const weight = 0.25;

export class Pace {
  readonly #targetUs: number;
  #taskUs = Number.POSITIVE_INFINITY;
  #size = 1;

  constructor(targetUs: number) {
    this.#targetUs = targetUs;
  }

  get size(): number {
    return this.#size;
  }

  /** The expected duration of a full frame, in µs; infinite before the first measurement. */
  get frameUs(): number {
    return this.#taskUs * this.#size;
  }

  /** Records that `tasks` tasks of a frame took `totalUs` in total. */
  measured(tasks: number, totalUs: number): void {
    if (tasks === 0) return;
    const taskUs = Math.max(totalUs / tasks, 0.5);
    // The estimate rises at once and falls gradually.
    this.#taskUs = this.#taskUs < taskUs ? taskUs : mix(this.#taskUs, taskUs);
    const fitting = Math.max(1, Math.floor(this.#targetUs / this.#taskUs));
    this.#size = Math.min(fitting, this.#size * growth, frameTasksMax);
  }

  /** Makes frames smaller. Called when a host has returned jobs of a frame as `crowded` (plugin-host.ts). */
  tooLarge(): void {
    this.#size = Math.max(1, this.#size >> 2);
  }
}

function mix(old: number, fresh: number): number {
  return Number.isFinite(old) ? old + (fresh - old) * weight : fresh;
}
