// The hub keeps the newest observations. Each subscriber reads them at its own pace.
import { formatId, jobIdBytes } from '../../runtime/ids.ts';
import { type Filter, isInTree, nextOfJob, wantsAll, wantsType } from './filter.ts';
import { GroupOrigins, noOrigins, readingWorkMax } from './origins.ts';
import type { Observations, Origins } from './protocol.ts';
import { Ring, type RingEntry } from './ring.ts';

/**
 * Why a subscriber misses observations. `too_slow`: the ring has dropped them. `restarted`: the subscriber named an id from before the
 * last start of the service. `unknown_id`: the subscriber named an id that is higher than the newest one.
 */
export const gapReasons = ['too_slow', 'restarted', 'unknown_id'] as const;
/**
 * Says that a subscriber misses observations. The subscriber continues after the id `id`. `lost`: how many observations it misses; null:
 * unknown.
 */
export type Gap = { readonly id: number; readonly lost: number | null; readonly reason: (typeof gapReasons)[number] };

/** Consecutive observations of one group, at the indexes `from` to `to` - 1. `id` is the id of the first of these observations. */
export type ObservationSlice = {
  readonly id: number;
  readonly group: Observations;
  readonly from: number;
  readonly to: number;
  /** The trees, runs and tags of the group's jobs. Null: the group is not about jobs. */
  readonly origins: GroupOrigins | null;
};

export type ObservationRead = {
  readonly gap: Gap | null;
  readonly slices: readonly ObservationSlice[];
  /** The next read continues after this id. */
  readonly upTo: number;
};

export class Hub {
  readonly #ring: Ring;
  readonly #origins: Origins;
  readonly #listeners = new Set<() => void>();

  /** `firstId`: the id of the first observation (`firstIdAt`). */
  constructor(firstId = 1, origins: Origins = noOrigins) {
    this.#ring = new Ring(firstId);
    this.#origins = origins;
  }

  /** Adds the groups to the ring and calls the listeners. Must be called after the commit of the changes that the groups report. */
  observe(groups: readonly Observations[]): void {
    for (const group of groups) this.#ring.push(group);
    for (const listener of this.#listeners) listener();
  }

  /** The id of the newest observation; before the first observation, one less than the first id. */
  get newest(): number {
    return this.#ring.next - 1;
  }

  /** The id of the oldest observation in the ring; if the ring is empty, `newest` + 1. */
  get oldest(): number {
    return this.#ring.oldest;
  }

  /** The number of lookups of origins so far (`Origins.work`). */
  get work(): number {
    return this.#origins.work;
  }

  /** Whether a read must stop, because it has made `readingWorkMax` lookups. `work`: the value of the hub's `work` when the read began. */
  isSpent(work: number): boolean {
    return this.work - work >= readingWorkMax;
  }

  /**
   * Registers a listener for new observations. It must be quick, because `observe` calls it synchronously. Returns a function that
   * removes the listener.
   */
  onNews(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** The next selected observations with ids above `after`, at most `max`. After `readingWorkMax` lookups the read stops early. */
  read(filter: Filter, after: number, max: number): ObservationRead {
    const gap = gapAfter(this.#ring, after);
    const slices: ObservationSlice[] = [];
    const { work } = this;
    const taken = { slices, upTo: gap?.id ?? after, left: max, isSpent: () => this.isSpent(work) };
    this.#origins.refresh();
    for (const held of this.#ring.since(taken.upTo + 1)) {
      if (taken.left === 0 || taken.isSpent()) break;
      if (wantsType(filter, held.group)) take(filter, originated(held, this.#origins), taken);
      else taken.upTo = lastOf(held);
    }
    return { gap, slices, upTo: taken.upTo };
  }
}

/**
 * The first id of a service that starts now: the time in µs. Unless the clock was set back, it is greater than every id from before the
 * start, because no service sustains a million observations a second.
 */
export function firstIdAt(nowUs: number): number {
  return nowUs;
}

function lastOf({ first, count }: RingEntry): number {
  return first + count - 1;
}

/**
 * The gap of a subscriber that continues after the id `wanted`. Null: no observation is missing. `wanted` 0: the subscriber wants all
 * observations since the start of the service.
 */
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
  readonly slices: ObservationSlice[];
  upTo: number;
  left: number;
  readonly isSpent: () => boolean;
};

/** Adds the selected observations of one group to `taken`, up to the limits of the read. */
function take(filter: Filter, held: RingEntry, taken: PendingRead): void {
  const { first, count, group, origins } = held;
  let place = Math.max(0, taken.upTo + 1 - first);
  if (wantsAll(filter)) {
    const to = Math.min(count, place + taken.left);
    if (to > place) taken.slices.push({ id: first + place, group, from: place, to, origins });
    taken.left -= to - place;
    taken.upTo = first + to - 1;
    return;
  }
  let from = -1;
  const close = (to: number): void => {
    if (from >= 0) taken.slices.push({ id: first + from, group, from, to, origins });
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

export function idAt(ids: Uint8Array, place: number): string {
  return formatId(ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes));
}
