// Reads the timelines of jobs and runs. The timelines of ended jobs and runs are cached, because they change only if retention removes
// jobs.
import { bucketCounts } from '../../actors/job/views/timeline.ts';
import { readTimeline, type Timeline, type TimelineQuery } from '../../actors/job/views/timeline-reading.ts';
import { blockOf, formatId } from '../../runtime/ids.ts';
import type { Sliced } from '../../runtime/slices.ts';
import type { Reader } from '../../runtime/store/store.ts';

/** The maximum total size of the cached timelines in bytes, as estimated. The timeline that was read least recently is dropped first. */
export const timelinesBytesMax = 16 * 2 ** 20;
/** Estimated sizes in bytes: a step excluding its buckets, an entry of the path, and the rest of a timeline. */
const stepBytes = 8 * 2 ** 10;
const pathStepBytes = 512;
const ownBytes = 4 * 2 ** 10;

/** Returns a function that reads a timeline. Null: the job does not exist, or was pruned. */
export function openTimelines(
  reader: Reader,
  bytesMax = timelinesBytesMax,
): (wanted: TimelineQuery) => Sliced<Timeline | null> {
  const kept = new Map<string, Timeline>();
  let bytes = 0;

  function keep(name: string, timeline: Timeline): void {
    drop(name);
    kept.set(name, timeline);
    bytes += timelineBytes(timeline);
    for (const oldest of kept.keys()) {
      if (bytes <= bytesMax) return;
      drop(oldest);
    }
  }

  function drop(name: string): void {
    const timeline = kept.get(name);
    if (!timeline) return;
    kept.delete(name);
    bytes -= timelineBytes(timeline);
  }

  return function* (wanted) {
    const { id, buckets, part } = wanted;
    const name = `${formatId(id)} ${buckets} ${part ? `${part.fromUs}-${part.toUs}` : ''}`;
    const known = kept.get(name);
    drop(name);
    if (known && reader.peek('blocks', blockOf(wanted.id)) === undefined) return null;
    const timeline = known ?? (yield* readTimeline(reader, wanted));
    if (timeline?.isOver) keep(name, timeline);
    return timeline;
  };
}

/** The estimated size of a timeline in memory. */
export function timelineBytes({ steps, time, path }: Timeline): number {
  const bucketBytes = time.buckets * bucketCounts.length * Uint32Array.BYTES_PER_ELEMENT;
  return ownBytes + steps.length * (stepBytes + bucketBytes) + path.steps.length * pathStepBytes;
}
