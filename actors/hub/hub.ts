// The hub receives observations after their commit. Each subscriber reads them at its own pace.
import { formatId, jobIdBytes } from '../../runtime/ids.ts';
import { type Filter, isInTree, nextOfJob, wantsAll, wantsType } from './filter.ts';
import { GroupOrigins, noOrigins, readingWorkMax } from './origins.ts';
import type { Observations, ObservationType, Origins } from './protocol.ts';
import { Ring, type RingEntry } from './ring.ts';

/** One observation of a group. `fields` are those of its type. */
export type Observation = {
  readonly id: number;
  readonly type: ObservationType;
  readonly atUs: number;
  readonly fields: { readonly [name: string]: string | number | boolean | null };
};

/** Why observations are missing: the subscriber was too slow for the ring, the service has restarted, or the id is unknown. */
export const gapReasons = ['too_slow', 'restarted', 'unknown_id'] as const;
/** Observations up to `id` are gone. `lost`: how many; null: unknown. */
export type Gap = { readonly id: number; readonly lost: number | null; readonly reason: (typeof gapReasons)[number] };

/** Consecutive observations of one group, from index `from` to `to`; `id` is that of the first. */
export type ObservationSlice = {
  readonly id: number;
  readonly group: Observations;
  readonly from: number;
  readonly to: number;
  /** The trees and runs of its jobs; null: the group is not about jobs. */
  readonly origins: GroupOrigins | null;
};

export type ObservationRead = {
  readonly gap: Gap | null;
  readonly stretches: readonly ObservationSlice[];
  /** The last id that was examined; the next read continues after it. */
  readonly upTo: number;
};

export interface Hub {
  /** Appends groups, in order, after their commit. */
  observe(groups: readonly Observations[]): void;
  /** The id of the newest observation; if there is none, one less than the first id. */
  readonly newest: number;
  /** The id of the oldest observation in the ring; if there is none, `newest` + 1. */
  readonly oldest: number;
  /** At most `max` selected observations after this id; fewer if their origins take long to look up. */
  read(filter: Filter, after: number, max: number): ObservationRead;
  /** Whether the lookups since `work` had this value are enough for one read. */
  isSpent(work: number): boolean;
  /** A running count of lookups, see `Origins`. */
  readonly work: number;
  /** Registers a function that is called synchronously for new observations, and must be quick. Returns a function that removes it. */
  onNews(listener: () => void): () => void;
}

/**
 * Ids increase across restarts if the first is derived from the time (`firstIdAt`).
 */
export function startHub(firstId = 1, origins: Origins = noOrigins): Hub {
  const ring = new Ring(firstId);
  const listeners = new Set<() => void>();

  return {
    observe(groups) {
      for (const group of groups) ring.push(group);
      for (const listener of listeners) listener();
    },
    get newest() {
      return ring.next - 1;
    },
    get oldest() {
      return ring.oldest;
    },
    get work() {
      return origins.work;
    },
    isSpent: work => origins.work - work >= readingWorkMax,
    onNews(listener) {
      const own = (): void => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
    read(filter, after, max) {
      const gap = gapAfter(ring, after);
      const stretches: ObservationSlice[] = [];
      const { work } = origins;
      const isSpent = () => origins.work - work >= readingWorkMax;
      const taken = { stretches, upTo: gap?.id ?? after, left: max, isSpent };
      origins.refresh();
      for (const held of ring.since(taken.upTo + 1)) {
        if (taken.left === 0 || isSpent()) break;
        if (wantsType(filter, held.group)) take(filter, originated(held, origins), taken);
        else taken.upTo = lastOf(held);
      }
      return { gap, stretches, upTo: taken.upTo };
    },
  };
}

/** The first id of a service that starts now. It is above all ids of earlier starts, since no service sustains a million observations a second. */
export function firstIdAt(nowUs: number): number {
  return nowUs;
}

/** The observations of a stretch, one by one. */
export function* observationsOf({ id, group, from, to }: ObservationSlice): Iterable<Observation> {
  for (let place = from; place < to; place++) yield observationAt(group, place, id + place - from);
}

function lastOf({ first, count }: RingEntry): number {
  return first + count - 1;
}

/** `after` 0: from the first observation of this start. */
function gapAfter(ring: Ring, wanted: number): Gap | null {
  const after = wanted === 0 ? ring.first - 1 : wanted;
  const id = ring.oldest - 1;
  if (after >= ring.next) return { id: ring.next - 1, lost: null, reason: 'unknown_id' };
  if (after >= id) return null;
  return after < ring.first - 1
    ? { id, lost: null, reason: 'restarted' }
    : { id, lost: id - after, reason: 'too_slow' };
}

function originated(held: RingEntry, origins: Origins): RingEntry {
  if (held.group.kind === 'jobs') held.origins ??= new GroupOrigins(origins, held.group);
  return held;
}

type PendingRead = {
  readonly stretches: ObservationSlice[];
  upTo: number;
  left: number;
  readonly isSpent: () => boolean;
};

/** Adds the selected observations of one group. */
function take(filter: Filter, held: RingEntry, taken: PendingRead): void {
  const { first, count, group, origins } = held;
  let place = Math.max(0, taken.upTo + 1 - first);
  if (wantsAll(filter)) {
    const to = Math.min(count, place + taken.left);
    if (to > place) taken.stretches.push({ id: first + place, group, from: place, to, origins });
    taken.left -= to - place;
    taken.upTo = first + to - 1;
    return;
  }
  let from = -1;
  const close = (to: number): void => {
    if (from >= 0) taken.stretches.push({ id: first + from, group, from, to, origins });
    from = -1;
  };
  while (place < count && taken.left > 0 && !taken.isSpent()) {
    const next = nextOfJob(filter, group, place);
    if (next !== place) close(place);
    place = next < 0 ? count : next;
    if (next < 0) break;
    if (isInTree(filter, held, place)) {
      if (from < 0) from = place;
      taken.left--;
    } else close(place);
    place++;
  }
  close(place);
  taken.upTo = first + place - 1;
}

function observationAt(group: Observations, place: number, id: number): Observation {
  const { type, atUs } = group;
  if (group.kind === 'plain') return { id, type, atUs, fields: group.fields };
  const error = group.errors?.[place];
  const fields = { job_id: idAt(group.ids, place), plugin: group.plugin, command: group.command };
  return { id, type, atUs, fields: error ? { ...fields, error } : fields };
}

/** The id of the job at an index of a group. */
export function idAt(ids: Uint8Array, place: number): string {
  return formatId(ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes));
}
