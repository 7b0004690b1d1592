// Runners: threads or processes that run several jobs of one command at once. This counts how many each has.

export class Runners {
  /** By the number of the runner. */
  readonly #underWay: number[] = [];

  /** The first of `count` runners with fewer than `each` jobs, so that few are started. -1: all are full. */
  free(count: number, each: number): number {
    for (let runner = 0; runner < count; runner++) if (this.room(runner, each) > 0) return runner;
    return -1;
  }

  /** How many more it may have. */
  room(runner: number, each: number): number {
    return each - (this.#underWay[runner] ?? 0);
  }

  /** A runner gets `jobs` jobs. Returns by how much the number of busy runners grows. */
  take(runner: number, jobs: number): number {
    const before = this.#underWay[runner] ?? 0;
    this.#underWay[runner] = before + jobs;
    return before === 0 && jobs > 0 ? 1 : 0;
  }

  /** One of its jobs has ended. Returns by how much the number of busy runners shrinks. */
  give(runner: number): number {
    return --this.#underWay[runner]! === 0 ? 1 : 0;
  }
}
