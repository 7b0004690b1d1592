// The runs whose fan-outs or parked tokens a pause holds.
import type { PauseTarget } from '../../job/records/pause.ts';
import type { Run } from '../run.ts';

export class PausedRuns {
  /** By pipeline: the names of its runs that a pause holds. */
  readonly #names = new Map<string, Set<string>>();

  add({ name, version }: Run): void {
    const names = this.#names.get(version.name);
    if (names) names.add(name);
    else this.#names.set(version.name, new Set([name]));
  }

  /** Removes the runs that these pauses may have held, and returns their names. */
  *take(pauses: readonly PauseTarget[]): Iterable<string> {
    for (const [pipeline, names] of this.#names) {
      if (!pauses.some(({ kind, name }) => kind === 'system' || (kind === 'pipeline' && name === pipeline))) continue;
      this.#names.delete(pipeline);
      yield* names;
    }
  }
}
