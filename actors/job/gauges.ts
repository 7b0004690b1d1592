// A few numbers in shared memory, which any thread of the process may read at any time.

const names = [
  'queued',
  'running',
  'retrying',
  'held',
  'paused',
  'scheduled',
  'runs',
  'settledInRuns',
  'journaled',
  'changes',
] as const;
/**
 * `queued`: the number of queued jobs, excluding delayed jobs and jobs that wait for a retry. `running`: the number of jobs that hosts
 * have. `retrying`: the number of jobs that wait for a retry. `held`: the number of queued jobs that are held, by a pause or otherwise.
 * `paused`: the number of jobs that a pause holds. `scheduled`: the number of delayed jobs and runs. `runs`: the number of open runs.
 * `settledInRuns`: the number of settled jobs inside open runs. `journaled`: the time in µs of the newest commit in the journal; 0: the
 * journal is empty. `changes`: the number of jobs that the newest turn has accepted, plus the number of attempts that it has ended.
 */
type Name = (typeof names)[number];
const places = Object.fromEntries(names.map((name, place) => [name, place])) as { readonly [N in Name]: number };

export class Gauges {
  readonly shared: SharedArrayBuffer;
  readonly #cells: Float64Array;

  constructor(shared = new SharedArrayBuffer(names.length * 8)) {
    this.shared = shared;
    this.#cells = new Float64Array(shared);
  }

  set(values: { readonly [N in Name]?: number }): void {
    for (const name in values) this.#cells[places[name as Name]] = values[name as Name]!;
  }

  get(name: Name): number {
    return this.#cells[places[name]]!;
  }
}
