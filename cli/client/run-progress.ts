// Shows the progress of a run. Of a small run, all events are shown; of a large one, failed jobs and counts.
import type { Output } from '../output.ts';
import type { StreamEvent } from './event-stream.ts';
import { countsText, type JobDocument } from './jobs.ts';

/** All events are shown until more than this many jobs of the run have had events. */
const jobsShownMax = 100;
/** The maximum number of failed jobs that are shown once the number of jobs has exceeded `jobsShownMax`. */
const failuresShownMax = 100;
/** The minimum time between two requests for the run's counts. */
const fetchEveryMs = 1_000;
/** The minimum time between two printed lines with counts, if no progress is shown (`Output.isWatched` is false). */
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

  /** Whether to print the event. With `--json` every event is printed. Prints a note on stderr when events begin to be left out. */
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

  /** Whether it is time to fetch the counts of a large run again. */
  get isDue(): boolean {
    return this.#isLarge && performance.now() - this.#fetchedMs >= fetchEveryMs;
  }

  /** For a large run, shows the number of jobs with each status. If no progress is shown, prints a line at most every `lineEveryMs`. */
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
