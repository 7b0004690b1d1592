// Counts the jobs of each runner, a thread or process that runs several jobs of one command at once.

export class Runners {
  /** The number of jobs of each runner, by the number of the runner. */
  readonly #underWay: number[] = [];

  /** The first of `count` runners with fewer than `each` jobs, so that as few runners as possible are started. -1: none has room. */
  free(count: number, each: number): number {
    for (let runner = 0; runner < count; runner++) if (this.room(runner, each) > 0) return runner;
    return -1;
  }

  /** How many more jobs the runner may have. */
  room(runner: number, each: number): number {
    return each - (this.#underWay[runner] ?? 0);
  }

  /** Adds `jobs` jobs to a runner. Returns the number of runners that become busy: 1 or 0. */
  take(runner: number, jobs: number): number {
    const before = this.#underWay[runner] ?? 0;
    this.#underWay[runner] = before + jobs;
    return before === 0 && jobs > 0 ? 1 : 0;
  }

  /** Removes one job from a runner. Returns the number of runners that become idle: 1 or 0. */
  give(runner: number): number {
    return --this.#underWay[runner]! === 0 ? 1 : 0;
  }
}
