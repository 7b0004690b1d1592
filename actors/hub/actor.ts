// The hub: takes observations after their commit, and lets each subscriber read them at its own pace.
import { formatId, jobIdBytes } from '../../runtime/ids.ts';
import { type Filter, isInTree, nextOfJob, wantsAll, wantsType } from './filter.ts';
import { GroupOrigins, noOrigins, readingWorkMax } from './origins.ts';
import type { Observations, ObservationType, Origins } from './protocol.ts';
import { type Held, Ring } from './ring.ts';

/** One observation, taken out of its group. `fields` are those of its type. */
export type Observation = {
  readonly id: number;
  readonly type: ObservationType;
  readonly atUs: number;
  readonly fields: { readonly [name: string]: string | number | boolean | null };
};

/** Why a subscriber did not get all: it was slower than the ring is long; the ring it read from is gone; or no ring of ours gave that id. */
export const gapReasons = ['too_slow', 'restarted', 'unknown_id'] as const;
/** Nothing between `id` and what was read before can be read any more. `lost`: how many; null: nobody knows. */
export type Gap = { readonly id: number; readonly lost: number | null; readonly reason: (typeof gapReasons)[number] };

/** Observations of one group that lie side by side: places `from` to `to`; the first has this id. */
export type Stretch = {
  readonly id: number;
  readonly group: Observations;
  readonly from: number;
  readonly to: number;
  /** Where its jobs belong; null: they are no jobs. */
  readonly origins: GroupOrigins | null;
};

export type Reading = {
  readonly gap: Gap | null;
  readonly stretches: readonly Stretch[];
  /** The last id that was looked at: where the next reading goes on. */
  readonly upTo: number;
};

export interface Hub {
  /** Takes groups in, in order, after their commit. */
  observe(groups: readonly Observations[]): void;
  /** The id of the newest observation; one less than the first id, when there is none. */
  readonly newest: number;
  /** The id of the oldest observation that can still be read; one more than `newest`, when there is none. */
  readonly oldest: number;
  /** What came after this id and is wanted, at most `max`, and less where much must be looked up. Costs nothing until it is called. */
  read(filter: Filter, after: number, max: number): Reading;
  /** Whether so much was looked up since `work` said this that the rest should wait for the next reading. */
  isSpent(work: number): boolean;
  /** How much was looked up, from the beginning: see `Origins`. */
  readonly work: number;
  /** Called at once when observations come in: for whoever only notes that there is news. Returns how to end it. */
  onNews(listener: () => void): () => void;
}

/**
 * Ids go on after a restart when the first is above all that were given before: derive it from the time (`firstIdAt`).
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
      const stretches: Stretch[] = [];
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

/** The first id of a service that starts now. No service publishes a million observations a second for long: ids of an earlier start, of this clock, are smaller. */
export function firstIdAt(nowUs: number): number {
  return nowUs;
}

/** The observations of a stretch, one by one. */
export function* observationsOf({ id, group, from, to }: Stretch): Iterable<Observation> {
  for (let place = from; place < to; place++) yield observationAt(group, place, id + place - from);
}

function lastOf({ first, count }: Held): number {
  return first + count - 1;
}

/** `after` 0: from the first of this start on. */
function gapAfter(ring: Ring, wanted: number): Gap | null {
  const after = wanted === 0 ? ring.first - 1 : wanted;
  const id = ring.oldest - 1;
  if (after >= ring.next) return { id: ring.next - 1, lost: null, reason: 'unknown_id' };
  if (after >= id) return null;
  return after < ring.first - 1
    ? { id, lost: null, reason: 'restarted' }
    : { id, lost: id - after, reason: 'too_slow' };
}

function originated(held: Held, origins: Origins): Held {
  if (held.group.kind === 'jobs') held.origins ??= new GroupOrigins(origins, held.group);
  return held;
}

type Taken = { readonly stretches: Stretch[]; upTo: number; left: number; readonly isSpent: () => boolean };

/** Adds what is wanted of one group. */
function take(filter: Filter, held: Held, taken: Taken): void {
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

/** The id of the job at a place of a group. */
export function idAt(ids: Uint8Array, place: number): string {
  return formatId(ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes));
}
