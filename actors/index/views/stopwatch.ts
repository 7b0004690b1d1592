// Reads the stopwatch: merges the pages of all minutes in a window.
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { Histogram, type Histogram as Times } from '../records/histogram.ts';
import { histogramIn, minutesKept, minuteUs, pageKey, readPage } from '../records/stopwatch.ts';

/** The number of equal parts into which a trend divides the window. */
export const trendBuckets = 24;

export type StepTimes = {
  readonly all: Times;
  /** One histogram for each part of the window, oldest first. */
  readonly trend: readonly Times[];
  readonly spans: ReadonlyMap<string, Times>;
};

/** The first and the last minute of a window, counted since the epoch. */
export type Window = { readonly from: number; readonly to: number };

/**
 * The window from the minute of `sinceUs` to the current minute, but without minutes that are no longer stored. If the minute of
 * `sinceUs` lies in the future, the window is empty.
 */
export function windowOf(sinceUs: number, nowUs: number): Window {
  const to = Math.floor(nowUs / minuteUs);
  return { from: Math.max(Math.floor(sinceUs / minuteUs), to - minutesKept), to };
}

type CollectedTimes = StepTimes & { readonly trend: Histogram[]; readonly spans: Map<string, Histogram> };

export class StopwatchReading {
  readonly #reader: Reader<IndexTable>;
  readonly #plugin: string;
  readonly #window: Window;
  readonly #steps = new Map<string, CollectedTimes>();
  #minute: number;

  constructor(reader: Reader<IndexTable>, plugin: string, window: Window) {
    this.#reader = reader;
    this.#plugin = plugin;
    this.#window = window;
    this.#minute = window.from;
  }

  /** Reads the next minutes of the window, for about `msMax`. True: the whole window has been read. */
  read(msMax: number): boolean {
    const endMs = performance.now() + msMax;
    this.#reader.refresh();
    for (; this.#minute <= this.#window.to && performance.now() < endMs; this.#minute++) this.#take(this.#minute);
    return this.#minute > this.#window.to;
  }

  /** The steps (records/stopwatch.ts) that have times in the window. */
  get steps(): ReadonlyMap<string, StepTimes> {
    return this.#steps;
  }

  #take(minute: number): void {
    const bytes = this.#reader.get('stopwatch', pageKey(minute, this.#plugin));
    if (!bytes) return;
    const { from, to } = this.#window;
    const bucket = Math.floor(((minute - from) * trendBuckets) / (to - from + 1));
    readPage(bytes, (step, times, spans) => {
      const gathered = this.#stepOf(step);
      gathered.all.merge(times);
      gathered.trend[bucket]!.merge(times);
      for (const [name, spanTimes] of spans) histogramIn(gathered.spans, name).merge(spanTimes);
    });
  }

  #stepOf(step: string): CollectedTimes {
    let gathered = this.#steps.get(step);
    if (!gathered) {
      const trend = Array.from({ length: trendBuckets }, () => new Histogram());
      gathered = { all: new Histogram(), trend, spans: new Map() };
      this.#steps.set(step, gathered);
    }
    return gathered;
  }
}
