// The hub: takes observations after their commit and lets subscribers read them at their own pace.
import { formatId } from '../../runtime/ids.ts';
import type { Actor } from '../../runtime/turn.ts';
import type { Observations, ObservationType, Observed } from './protocol.ts';
import { Ring, ringSize } from './ring.ts';

/** One observation, taken out of its group. `fields` are those of its type. */
export type Observation = {
  readonly id: number;
  readonly type: ObservationType | 'gap';
  readonly atUs: number;
  readonly fields: { readonly [name: string]: string | number | boolean | null };
};

export type Subscription = {
  /** The next observations, at most `max`; a `gap` first when some were lost. Costs nothing until it is called. */
  read(max: number): Observation[];
  /** Whether there is something to read. */
  readonly ready: boolean;
  close(): void;
};

export type Filter = { readonly types: readonly string[] | null; readonly jobId: string | null };

export interface Hub extends Actor {
  /** `after`: the id of the last observation that was seen; absent: from now on. `wake` is called when there is news. */
  subscribe(filter: Filter, wake: () => void, after?: number): Subscription;
  readonly subscribers: number;
}

export function startHub(firstId = 1): Hub {
  const ring = new Ring(firstId);
  const wakers = new Set<() => void>();

  return {
    receive(messages) {
      for (const message of messages) for (const group of (message as Observed).groups) ring.push(group);
      for (const wake of wakers) wake();
    },
    get subscribers() {
      return wakers.size;
    },
    subscribe(filter, wake, after) {
      const call = (): void => wake();
      wakers.add(call);
      let cursor = after === undefined ? ring.next : after + 1;
      return {
        get ready() {
          return cursor !== ring.next;
        },
        read(max) {
          const seen: Observation[] = [];
          const oldest = Math.max(ring.oldest, ring.next - ringSize);
          if (cursor < oldest || cursor > ring.next) {
            const lost = cursor > ring.next ? 0 : oldest - cursor;
            cursor = cursor > ring.next ? ring.next : oldest;
            seen.push({ id: cursor - 1, type: 'gap', atUs: Date.now() * 1000, fields: { lost } });
          }
          for (const { first, count, group } of ring.since(cursor)) {
            for (let place = Math.max(0, cursor - first); place < count; place++) {
              if (seen.length >= max) return seen;
              cursor = first + place + 1;
              if (wants(filter, group, place)) seen.push(observationOf(group, place, first + place));
            }
          }
          return seen;
        },
        close() {
          wakers.delete(call);
        },
      };
    },
  };
}

function wants({ types, jobId }: Filter, group: Observations, place: number): boolean {
  if (types && !types.some(type => matches(type, group.type))) return false;
  if (jobId === null) return true;
  return group.kind === 'jobs' ? idAt(group.ids, place) === jobId : group.fields['job_id'] === jobId;
}

/** `job.*` matches every type of jobs. */
function matches(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}

function observationOf(group: Observations, place: number, id: number): Observation {
  const { type, atUs } = group;
  if (group.kind === 'plain') return { id, type, atUs, fields: group.fields };
  const error = group.errors?.[place];
  const fields = { job_id: idAt(group.ids, place), plugin: group.plugin, command: group.command };
  return { id, type, atUs, fields: error ? { ...fields, error } : fields };
}

function idAt(ids: Uint8Array, place: number): string {
  return formatId(ids.subarray(place * 16, place * 16 + 16));
}
