// How many jobs of a command one frame may hold: as many as fit into so much time, by what they took so far.

/** Of a frame. */
export const frameUsTarget = 2_000;
/** Of a frame of programs for an attempt each: few fit into less, and each frame costs a commit. */
export const programsUsTarget = 20_000;
export const frameTasksMax = 512;
/** A frame grows at most so much from one to the next, so that a wrong guess costs little. */
const growth = 8;
/** The weight of the newest frame in the estimate. */
const weight = 0.25;

export class Pace {
  readonly #targetUs: number;
  #taskUs = Number.POSITIVE_INFINITY;
  #size = 1;

  /** `targetUs`: what a frame is to take, at most. */
  constructor(targetUs: number) {
    this.#targetUs = targetUs;
  }

  /** Jobs for the next frame. */
  get size(): number {
    return this.#size;
  }

  /** What the next frame is thought to take. */
  get frameUs(): number {
    return this.#taskUs * this.#size;
  }

  /** What tasks of a frame took, together. */
  measured(tasks: number, totalUs: number): void {
    if (tasks === 0) return;
    const taskUs = Math.max(totalUs / tasks, 0.5);
    // Slower counts at once, faster is believed by and by.
    this.#taskUs = this.#taskUs < taskUs ? taskUs : mix(this.#taskUs, taskUs);
    const fitting = Math.max(1, Math.floor(this.#targetUs / this.#taskUs));
    this.#size = Math.min(fitting, this.#size * growth, frameTasksMax);
  }

  /** A frame had to be taken apart because one of its jobs was slow. */
  tooLarge(): void {
    this.#size = Math.max(1, this.#size >> 2);
  }
}

function mix(old: number, fresh: number): number {
  return Number.isFinite(old) ? old + (fresh - old) * weight : fresh;
}
