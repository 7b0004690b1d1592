// Shows the progress of a run: all events of a small run; failed jobs and counts of a large one.
import type { Output } from '../output.ts';
import type { StreamEvent } from './event-stream.ts';
import { countsText, type JobDocument } from './jobs.ts';

/** All events of a run are shown while it has at most this many jobs. */
export const jobsShownMax = 100;
/** The maximum number of failed jobs that are shown for a larger run. */
export const failuresShownMax = 100;
/** The interval of requests for the counts. */
const fetchEveryMs = 1_000;
/** The interval of lines with counts if stderr is not a terminal. */
const lineEveryMs = 10_000;

const failures = new Set(['job.failed', 'job.timed_out', 'job.dead']);

export class RunProgress {
  readonly #id: string;
  readonly #out: Output;
  readonly #jobs = new Set<string>();
  #isLarge = false;
  #failuresShown = 0;
  #fetchedMs = 0;
  #printedMs = 0;

  constructor(id: string, out: Output) {
    this.#id = id;
    this.#out = out;
  }

  /** With `--json` every event is shown. */
  shows({ type, fields: { job_id: id } }: StreamEvent): boolean {
    if (this.#out.json || id === this.#id || typeof id !== 'string') return true;
    if (!this.#isLarge) {
      this.#jobs.add(id);
      if (this.#jobs.size <= jobsShownMax) return true;
      this.#isLarge = true;
      this.#jobs.clear();
      this.#out.note(`more than ${jobsShownMax} jobs: from now on only failed jobs and counts are shown`);
    }
    if (!failures.has(type) || this.#failuresShown > failuresShownMax) return false;
    if (++this.#failuresShown <= failuresShownMax) return true;
    this.#out.note(`more than ${failuresShownMax} jobs failed: "headgate job tree ${this.#id} --failed" shows them`);
    return false;
  }

  /** Whether the counts are due. */
  get isDue(): boolean {
    return this.#isLarge && performance.now() - this.#fetchedMs >= fetchEveryMs;
  }

  /** Prints how many jobs have ended. */
  printCounts({ counts }: JobDocument): void {
    if (!this.#isLarge || counts === undefined) return;
    this.#fetchedMs = performance.now();
    if (this.#out.isWatched) this.#out.progress(countsText(counts));
    else if (this.#fetchedMs - this.#printedMs >= lineEveryMs) {
      this.#printedMs = this.#fetchedMs;
      this.#out.note(countsText(counts));
    }
  }
}
