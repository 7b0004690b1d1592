// Reads the stopwatch: merges a plugin's pages of all minutes in a window.
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { Histogram } from '../records/histogram.ts';
import { histogramIn, minutesKept, minuteUs, otherSpans, pageKey, readPage } from '../records/stopwatch.ts';
import { StepHistory, type StepHistoryQuery } from './step-history.ts';

/** The number of equal parts into which a trend divides the window. */
export const trendBuckets = 24;
/** The maximum number of span names of a step in a window. Spans with other names are counted together, under `otherSpans`. */
export const windowSpansMax = 256;
/** The estimated size of a step in bytes, without its histograms and its history. */
const stepBytes = 1_024;

export type StepTimes = {
  readonly all: Histogram;
  readonly trend: Pick<Trend, 'p95'>;
  /** Empty unless spans are wanted. */
  readonly spans: ReadonlyMap<string, Histogram>;
  /** Null: the caller did not ask for a history. */
  readonly history: Pick<StepHistory, 'buckets' | 'slowest'> | null;
};

/** The first and the last minute of a window, counted since the epoch. */
export type Window = { readonly from: number; readonly to: number };

/**
 * Computes a window from the minute of `fromUs` to the last minute that begins before `toUs`. If `toUs` is null or after the current minute, the
 * window ends with the current minute. Minutes older than `minutesKept` are excluded. If no minute remains, the window is empty: `to` is less
 * than `from`.
 */
export function windowOf(fromUs: number, nowUs: number, toUs: number | null = null): Window {
  const current = Math.floor(nowUs / minuteUs);
  const to = toUs === null ? current : Math.min(current, Math.ceil(toUs / minuteUs) - 1);
  return { from: Math.max(Math.floor(fromUs / minuteUs), current - minutesKept), to };
}

/** The data of the stopwatch that a reading collects. */
export type ReadingScope = {
  /** Only these steps. Null or absent: all. */
  readonly steps?: ReadonlySet<string> | null;
  /** Whether the spans of each step are read. */
  readonly spans?: boolean;
  /** The wanted parts of each step's history. Null: no history is wanted. */
  readonly history?: StepHistoryQuery | null;
};

type CollectedTimes = StepTimes & {
  readonly trend: Trend;
  readonly spans: Map<string, Histogram>;
  readonly history: StepHistory | null;
};

const none = new Uint8Array();

/** The 95th percentiles of a step in each part of the window, oldest first. Keeps one histogram, because a histogram is large. */
class Trend {
  readonly #finished = new Array<number>(trendBuckets).fill(0);
  #bucket = 0;
  #times = new Histogram();

  /** Adds a stored minute of this part of the window. Minutes must be added in order. */
  take(bucket: number, times: Uint8Array): void {
    if (bucket !== this.#bucket) this.#finish();
    this.#bucket = bucket;
    this.#times.merge(times);
  }

  /** In µs; 0 for a part without samples. Must be read only when all minutes have been added. */
  get p95(): readonly number[] {
    this.#finish();
    return this.#finished;
  }

  #finish(): void {
    if (this.#times.count === 0) return;
    this.#finished[this.#bucket] = this.#times.percentile(0.95);
    this.#times = new Histogram();
  }
}

export class StopwatchReading {
  readonly #reader: Reader<IndexTable>;
  readonly #plugin: string;
  readonly #window: Window;
  readonly #scope: ReadingScope;
  readonly #steps = new Map<string, CollectedTimes>();
  #minute: number;

  constructor(reader: Reader<IndexTable>, plugin: string, window: Window, scope: ReadingScope = {}) {
    this.#reader = reader;
    this.#plugin = plugin;
    this.#window = window;
    this.#scope = scope;
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

  /** The estimated size of the steps in memory. Must be read only when the whole window has been read. */
  get bytes(): number {
    let bytes = 0;
    for (const { all, spans, history } of this.#steps.values()) {
      bytes += stepBytes + all.bytes + (history?.bytes ?? 0);
      for (const times of spans.values()) bytes += times.bytes;
    }
    return bytes;
  }

  #take(minute: number): void {
    const bytes = this.#reader.get('stopwatch', pageKey(minute, this.#plugin));
    if (!bytes) return;
    const { from, to } = this.#window;
    const bucket = Math.floor(((minute - from) * trendBuckets) / (to - from + 1));
    readPage(bytes, (step, times, spans, exemplars = none) => {
      if (this.#scope.steps?.has(step) === false) return;
      const gathered = this.#stepOf(step);
      gathered.history?.take(minute, times, exemplars);
      gathered.all.merge(times);
      gathered.trend.take(bucket, times);
      if (this.#scope.spans) addSpans(gathered.spans, spans);
    });
  }

  #stepOf(step: string): CollectedTimes {
    let gathered = this.#steps.get(step);
    if (!gathered) {
      const history = this.#scope.history ? new StepHistory(this.#scope.history, this.#window.from) : null;
      gathered = { all: new Histogram(), trend: new Trend(), spans: new Map(), history };
      this.#steps.set(step, gathered);
    }
    return gathered;
  }
}

function addSpans(to: Map<string, Histogram>, spans: readonly (readonly [name: string, times: Uint8Array])[]): void {
  for (const [name, times] of spans) {
    const isKept = to.has(name) || to.size < windowSpansMax;
    histogramIn(to, isKept ? name : otherSpans).merge(times);
  }
}
