// What of a run is shown to somebody who watches it: every event while its jobs are few, else the jobs that fail, and the counts.
import type { Output } from '../output.ts';
import type { StreamEvent } from './event-stream.ts';
import { countsText, type JobDocument } from './jobs.ts';

/** Jobs whose every event is shown. */
export const jobsShownMax = 100;
/** Jobs that failed, of more. */
export const failuresShownMax = 100;
/** Between two looks at the counts. */
const lookMs = 1_000;
/** Between two lines of counts where no terminal shows one that changes. */
const lineMs = 10_000;

const failures = new Set(['job.failed', 'job.timed_out', 'job.dead']);

export class RunProgress {
  readonly #id: string;
  readonly #out: Output;
  readonly #jobs = new Set<string>();
  #isLarge = false;
  #failuresShown = 0;
  #lookedMs = 0;
  #toldMs = 0;

  constructor(id: string, out: Output) {
    this.#id = id;
    this.#out = out;
  }

  /** Programs are shown everything. */
  shows({ type, fields: { job_id: id } }: StreamEvent): boolean {
    if (this.#out.json || id === this.#id || typeof id !== 'string') return true;
    if (!this.#isLarge) {
      this.#jobs.add(id);
      if (this.#jobs.size <= jobsShownMax) return true;
      this.#isLarge = true;
      this.#jobs.clear();
      this.#out.note(`more than ${jobsShownMax} jobs: from now on those that fail are shown, and how many have ended`);
    }
    if (!failures.has(type) || this.#failuresShown > failuresShownMax) return false;
    if (++this.#failuresShown <= failuresShownMax) return true;
    this.#out.note(`more than ${failuresShownMax} jobs failed: "headgate job tree ${this.#id} --failed" shows them`);
    return false;
  }

  /** Whether it is time to look at the counts again. */
  get isDue(): boolean {
    return this.#isLarge && performance.now() - this.#lookedMs >= lookMs;
  }

  /** Says how many have ended. */
  tell({ counts }: JobDocument): void {
    if (!this.#isLarge || counts === undefined) return;
    this.#lookedMs = performance.now();
    if (this.#out.isWatched) this.#out.progress(countsText(counts));
    else if (this.#lookedMs - this.#toldMs >= lineMs) {
      this.#toldMs = this.#lookedMs;
      this.#out.note(countsText(counts));
    }
  }
}
