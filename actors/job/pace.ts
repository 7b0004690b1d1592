// How many jobs of a command one frame may have: as many as fit into a target time, by how long they took so far.

/** How long a frame is to take. */
export const frameUsTarget = 2_000;
/** How long a frame of programs is to take. Few programs fit into less, and each frame costs a commit. */
export const programsUsTarget = 20_000;
export const frameTasksMax = 512;
/** A frame has at most this many times the jobs of the one before, so that a wrong guess costs little. */
const growth = 8;
/** The weight of the newest frame in the estimate. */
const weight = 0.25;

export class Pace {
  readonly #targetUs: number;
  #taskUs = Number.POSITIVE_INFINITY;
  #size = 1;

  /** `targetUs`: how long a frame may take. */
  constructor(targetUs: number) {
    this.#targetUs = targetUs;
  }

  /** Jobs for the next frame. */
  get size(): number {
    return this.#size;
  }

  /** How long the next frame is expected to take. */
  get frameUs(): number {
    return this.#taskUs * this.#size;
  }

  /** Notes how long tasks of a frame took together. */
  measured(tasks: number, totalUs: number): void {
    if (tasks === 0) return;
    const taskUs = Math.max(totalUs / tasks, 0.5);
    // The estimate rises at once and falls gradually.
    this.#taskUs = this.#taskUs < taskUs ? taskUs : mix(this.#taskUs, taskUs);
    const fitting = Math.max(1, Math.floor(this.#targetUs / this.#taskUs));
    this.#size = Math.min(fitting, this.#size * growth, frameTasksMax);
  }

  /** Jobs of a frame were given back because one of them was slow. */
  tooLarge(): void {
    this.#size = Math.max(1, this.#size >> 2);
  }
}

function mix(old: number, fresh: number): number {
  return Number.isFinite(old) ? old + (fresh - old) * weight : fresh;
}
