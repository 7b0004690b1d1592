// The records of the stopwatch: a page for each minute and plugin. A page has a histogram and exemplars for each step, and a histogram
// for each span inside the step. A step is a measured time: `run`, `queue`, `waited` or `total` of a command, or the running time of a
// pipeline step.
import type { JobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import { Exemplars } from './exemplars.ts';
import { Histogram } from './histogram.ts';

/** The name of the stopwatch among the consumers of the journal. */
export const stopwatchName = 'stopwatch';
export const minuteUs = 60_000_000;
/** The number of minutes that are stored: seven days. */
export const minutesKept = 7 * 24 * 60;
/** The maximum number of span names in one step and minute. Spans with other names are counted together, under `otherSpans`. */
export const spanNamesMax = 64;
export const otherSpans = '(other)';
const spanNameCharsMax = 128;

/** The key is the minute (4), then the plugin, so pages are sorted by age. */
export function pageKey(minute: number, plugin: string): Buffer {
  const key = Buffer.alloc(4 + Buffer.byteLength(plugin));
  key.writeUInt32BE(minute, 0);
  key.write(plugin, 4);
  return key;
}

export function commandStep(command: string, what: 'queue' | 'waited' | 'run' | 'total'): string {
  return `${command}.${what}`;
}

export function pipelineStep(pipeline: string, stepId: string): string {
  return `${pipeline}/${stepId}`;
}

/** Pages of early versions have no exemplars. */
type PackedPage = [
  step: string,
  times: Uint8Array,
  spans: [name: string, times: Uint8Array][],
  exemplars?: Uint8Array,
][];

type Times = { readonly all: Histogram; readonly spans: Map<string, Histogram>; readonly exemplars: Exemplars };

/** The page of one minute and plugin, while it is being written. */
export class MinutePage {
  readonly #steps = new Map<string, Times>();

  constructor(bytes?: Uint8Array) {
    if (!bytes) return;
    readPage(bytes, (step, times, spans, exemplars) => {
      const { all, spans: mine } = this.#timesOf(step, exemplars);
      all.merge(times);
      for (const [name, spanTimes] of spans) histogramIn(mine, name).merge(spanTimes);
    });
  }

  add(step: string, us: number, job: { readonly id: JobId }): void {
    const { all, exemplars } = this.#timesOf(step);
    if (all.add(us)) exemplars.offer(us, job.id);
  }

  addSpan(step: string, name: string, us: number): void {
    const { spans } = this.#timesOf(step);
    const short = name.slice(0, spanNameCharsMax);
    histogramIn(spans, spans.has(short) || spans.size < spanNamesMax ? short : otherSpans).add(us);
  }

  encode(): Uint8Array {
    const steps: PackedPage = [...this.#steps].map(([step, { all, spans, exemplars }]) => [
      step,
      all.encode(),
      [...spans].map(([name, times]) => [name, times.encode()]),
      exemplars.encode(),
    ]);
    return pack(steps);
  }

  #timesOf(step: string, exemplars?: Uint8Array): Times {
    let times = this.#steps.get(step);
    if (!times) {
      times = { all: new Histogram(), spans: new Map(), exemplars: new Exemplars(exemplars) };
      this.#steps.set(step, times);
    }
    return times;
  }
}

/** The histogram with this name, which is created if it is missing. */
export function histogramIn(histograms: Map<string, Histogram>, name: string): Histogram {
  let histogram = histograms.get(name);
  if (!histogram) {
    histogram = new Histogram();
    histograms.set(name, histogram);
  }
  return histogram;
}

/** Calls `take` with each step of a stored page. `take` gets the histograms and exemplars in encoded form. */
export function readPage(bytes: Uint8Array, take: (...of: PackedPage[number]) => void): void {
  for (const packed of unpack<PackedPage>(bytes)) take(...packed);
}
