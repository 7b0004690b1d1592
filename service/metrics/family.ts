// Families of metrics: a family has the samples that a scrape shows under one name. The number of series whose labels are names (of plugins or
// routes, for example) is limited.
import type { BucketExample } from '../../actors/index/records/totals.ts';
import type { Sliced } from '../../runtime/slices.ts';

export type MetricLabels = { readonly [label: string]: string };

/**
 * The values of a histogram, which never change. `counts`: the counts by bucket; the last bucket has no limit. `exampleOf`: a job of the
 * bucket at this place; null if none is known.
 */
export type BucketValues = {
  readonly limits: readonly number[];
  readonly sum: number;
  readonly counts: readonly number[];
  readonly exampleOf?: (place: number) => BucketExample | null;
};

/** A value with its labels. A sample never changes, so a later scrape that has the same sample can reuse its series and its text. */
export type Sample<V> = { readonly labels: MetricLabels; readonly value: V };

type FamilyHead = {
  /** The name, without the suffix `_total` of a counter. */
  readonly name: string;
  /** The text of `HELP`. For counters and histograms it also says whether they continue after a restart. */
  readonly help: string;
  /** The labels whose values are names. Absent: the family has few series, whatever the configuration. */
  readonly named?: readonly string[];
};

export type MetricFamily =
  | (FamilyHead & { readonly type: 'counter'; readonly samples: readonly Sample<number>[] })
  /** `joined`: how the values of samples that share a series are combined. Default: their sum. */
  | (FamilyHead & {
      readonly type: 'gauge';
      readonly samples: readonly Sample<number>[];
      readonly joined?: 'sum' | 'max';
    })
  | (FamilyHead & { readonly type: 'histogram'; readonly samples: readonly Sample<BucketValues>[] });

/** A sample without labels. */
export function single<V>(value: V): readonly Sample<V>[] {
  return [{ labels: {}, value }];
}

/** If there would be too many series, several samples share one. In the shared series, the named labels have this value. */
export const otherName = 'other';

/**
 * A shared series of a counter or histogram. `last`: the joined value of its samples in the last scrape; null: there were none. `lost`: the sum
 * of all decreases of that value from one scrape to the next; null: there has been only one scrape.
 */
type SharedSeries<V> = { readonly labels: MetricLabels; last: V | null; lost: V | null };

/** Shared series by the names of their families and by their labels. */
type SharedByFamily<V> = Map<string, Map<string, SharedSeries<V>>>;

/**
 * Decides which samples get a series of their own: the first ones, in the order in which scrapes present them. A sample keeps its series until
 * the process ends. A sample without a series of its own can get one later, after a reload has raised `seriesMax`.
 */
export class SeriesRoom {
  readonly #known = new Set<string>();
  /** The samples that were found to have a series of their own. */
  readonly #own = new WeakSet<Sample<unknown>>();
  readonly #counters: SharedByFamily<number> = new Map();
  readonly #histograms: SharedByFamily<BucketValues> = new Map();
  #used = 0;

  /** Limits the series with names to `seriesMax` over all families together. Further samples share series with the name `other`. */
  *limit(family: MetricFamily, seriesMax: number): Sliced<MetricFamily> {
    const { named } = family;
    if (named === undefined) return family;
    switch (family.type) {
      case 'histogram': {
        const { own, shared } = yield* this.#limited(family.name, named, family.samples, seriesMax, joinBuckets);
        const kept = neverFalling(this.#histograms, family.name, shared, joinBuckets, fallenBuckets);
        return { ...family, samples: [...own, ...kept] };
      }
      case 'gauge': {
        const join = family.joined === 'max' ? Math.max : add;
        const { own, shared } = yield* this.#limited(family.name, named, family.samples, seriesMax, join);
        return { ...family, samples: [...own, ...shared.values()] };
      }
      case 'counter': {
        const { own, shared } = yield* this.#limited(family.name, named, family.samples, seriesMax, add);
        return { ...family, samples: [...own, ...neverFalling(this.#counters, family.name, shared, add, fallen)] };
      }
    }
  }

  /** The samples that have a series of their own, and the shared series, by their labels. */
  *#limited<V>(
    name: string,
    named: readonly string[],
    samples: readonly Sample<V>[],
    seriesMax: number,
    join: (a: V, b: V) => V,
  ): Sliced<{ readonly own: readonly Sample<V>[]; readonly shared: ReadonlyMap<string, Sample<V>> }> {
    const own: Sample<V>[] = [];
    const shared = new Map<string, Sample<V>>();
    for (const sample of samples) {
      yield;
      if (this.#own.has(sample)) {
        own.push(sample);
        continue;
      }
      const { labels, value } = sample;
      if (!named.every(label => labels[label] === otherName) && this.#takes(name, sample, seriesMax)) {
        this.#own.add(sample);
        own.push(sample);
        continue;
      }
      const sharedLabels = { ...labels, ...Object.fromEntries(named.map(label => [label, otherName])) };
      const key = Object.values(sharedLabels).join('\0');
      const before = shared.get(key);
      shared.set(key, { labels: sharedLabels, value: before ? join(before.value, value) : value });
    }
    return { own, shared };
  }

  #takes(name: string, { labels, value }: Sample<unknown>, seriesMax: number): boolean {
    let key = name;
    for (const label in labels) key += `\0${labels[label]}`;
    if (this.#known.has(key)) return true;
    const count = typeof value === 'number' ? 1 : seriesCountOf(value as BucketValues);
    // A sample that does not fit is not recorded, because there can be any number of such samples. The next scrape tries again.
    if (this.#used + count > seriesMax) return false;
    this.#known.add(key);
    this.#used += count;
    return true;
  }
}

/**
 * The shared series of a counter or histogram, with values that never fall. The samples of a shared series are less than before when one of
 * them is removed, or gets a series of its own. Prometheus would take this for a restart, and count the whole value again.
 */
function* neverFalling<V>(
  families: SharedByFamily<V>,
  name: string,
  shared: ReadonlyMap<string, Sample<V>>,
  join: (a: V, b: V) => V,
  fallenBy: (before: V, now: V | null) => V,
): Iterable<Sample<V>> {
  const known = families.get(name) ?? new Map<string, SharedSeries<V>>();
  families.set(name, known);
  for (const [key, { labels }] of shared) if (!known.has(key)) known.set(key, { labels, last: null, lost: null });
  for (const [key, series] of known) {
    const now = shared.get(key)?.value ?? null;
    if (series.last !== null) {
      const fell = fallenBy(series.last, now);
      series.lost = series.lost === null ? fell : join(series.lost, fell);
    }
    series.last = now;
    // A series without samples had samples in an earlier scrape, so `lost` is set.
    const value = now === null ? series.lost! : series.lost === null ? now : join(now, series.lost);
    yield { labels: series.labels, value };
  }
}

/** The decrease of a value; 0 if it has grown. `now` null: the value is gone. */
function fallen(before: number, now: number | null): number {
  return Math.max(0, before - (now ?? 0));
}

function fallenBuckets(before: BucketValues, now: BucketValues | null): BucketValues {
  return {
    limits: before.limits,
    sum: fallen(before.sum, now?.sum ?? 0),
    counts: before.counts.map((count, place) => fallen(count, now?.counts[place] ?? 0)),
  };
}

/** The number of series of a histogram: one for each bucket, one for the sum, and one for the count. */
function seriesCountOf({ counts }: BucketValues): number {
  return counts.length + 2;
}

function add(a: number, b: number): number {
  return a + b;
}

function joinBuckets(a: BucketValues, b: BucketValues): BucketValues {
  const examples = a.counts.map((_, place) => a.exampleOf?.(place) ?? b.exampleOf?.(place) ?? null);
  return {
    limits: a.limits,
    sum: a.sum + b.sum,
    counts: a.counts.map((count, place) => count + b.counts[place]!),
    exampleOf: place => examples[place]!,
  };
}
