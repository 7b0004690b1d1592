// Which part of the time axis is in view. The URL keeps it.
import { parseSpan, type TimeSpan } from './scale.ts';
import { microsOf, type RunTimeline } from './timeline.ts';

export type StripView = {
  readonly span: TimeSpan;
  readonly isZoomed: boolean;
  readonly collapses: boolean;
};

/** Reads the view from the parameters of the URL: `zoom` and `idle`. */
export function stripView(query: URLSearchParams, durationUs: number): StripView {
  const span = parseSpan(query.get('zoom'), durationUs);
  return {
    span: span ?? { fromUs: 0, toUs: Math.max(1, durationUs) },
    isZoomed: span !== null,
    collapses: query.get('idle') === 'collapsed',
  };
}

/** How much time before and after the part in view is fetched with it, as a share of its length, so that a small movement shows no gap. */
const around = 0.5;

/** The times of a request are cut to milliseconds, so this is added to its end. */
const msUs = 1_000;

/** The parameters that request the timeline of the part in view; null if the whole run is in view. */
export function partQuery({ span, isZoomed }: StripView, { from }: RunTimeline): string | null {
  if (!isZoomed) return null;
  const length = span.toUs - span.fromUs;
  const at = (us: number) => new Date(Math.max(0, microsOf(from) + us) / 1000).toISOString();
  const [first, last] = [at(Math.max(0, span.fromUs - length * around)), at(span.toUs + length * around + msUs)];
  return `from=${first}&to=${last}`;
}

/** Whether the buckets of a part cover the span. The first and the last bucket do not count, because they also have what lies outside. */
export function covers(part: RunTimeline, { fromUs, toUs }: TimeSpan): boolean {
  const { from, buckets_from: first, bucket_us: bucketUs, steps, duration_us: durationUs } = part;
  if (first === undefined || steps.length === 0) return false;
  const firstUs = microsOf(first) - microsOf(from);
  const endUs = firstUs + (steps[0]!.buckets.length - 1) * bucketUs;
  return firstUs + bucketUs <= fromUs && endUs >= Math.min(toUs, durationUs);
}
