// The hub: a ring buffer that each reader reads at its own pace; a reader that is too slow is told how much it lost.
import { expect, it } from 'vitest';
import { everything, type Filter, filterKey, typesOf } from '../../../actors/hub/filter.ts';
import { firstIdAt, Hub, idAt, type ObservationSlice } from '../../../actors/hub/hub.ts';
import { readingWorkMax } from '../../../actors/hub/origins.ts';
import {
  errorCharsMax,
  type JobObservations,
  type Observations,
  type Observed,
  type Origins,
} from '../../../actors/hub/protocol.ts';
import { Ring, ringBytesMax, ringSize } from '../../../actors/hub/ring.ts';
import { ObservationBuffer } from '../../../actors/job/reports/observation-buffer.ts';
import { parseId } from '../../../runtime/ids.ts';
import type { Turn } from '../../../runtime/turn.ts';

function jobs(type: 'job.completed' | 'job.failed', count: number): Observations {
  const ids = Buffer.alloc(16 * count);
  for (let i = 0; i < count; i++) {
    ids.writeUInt32BE(0x7000, i * 16 + 4);
    ids.writeUInt32BE(0x80000000, i * 16 + 8);
    ids.writeUInt32BE(i, i * 16 + 12);
  }
  return { kind: 'jobs', type, atUs: 5, plugin: 'echo', command: 'handle', ids };
}

function observe(hub: Hub, ...groups: Observations[]): void {
  hub.observe(groups);
}

/** The observations of a slice, one by one. */
function* observationsOf({ id, group, from, to }: ObservationSlice) {
  for (let place = from; place < to; place++) {
    const { type, atUs } = group;
    if (group.kind === 'plain') yield { id: id + place - from, type, atUs, fields: group.fields };
    else {
      const { plugin, command, errors } = group;
      const error = errors?.[place];
      const fields = { job_id: idAt(group.ids, place), plugin, command, ...(error && { error }) };
      yield { id: id + place - from, type, atUs, fields };
    }
  }
}

function readAll(hub: Hub, filter: Filter, after: number, max = 10) {
  const { gap, slices, upTo } = hub.read(filter, after, max);
  const observations = slices.flatMap(slice => [...observationsOf(slice)]);
  return {
    gap,
    upTo,
    ids: observations.map(({ id }) => id),
    types: observations.map(({ type }) => type),
    observations,
  };
}

it('gives each observation once, numbered, and says at once that there is news', () => {
  const hub = new Hub();
  let news = 0;
  const stop = hub.onNews(() => news++);
  observe(hub, jobs('job.completed', 2), { kind: 'plain', type: 'config.reloaded', atUs: 6, fields: { kept: '' } });
  stop();
  observe(hub, jobs('job.failed', 1));
  expect(news).toBe(1);
  const { observations, upTo } = readAll(hub, everything, 0, 3);
  expect(observations.map(({ id, type }) => [id, type])).toEqual([
    [1, 'job.completed'],
    [2, 'job.completed'],
    [3, 'config.reloaded'],
  ]);
  expect(observations[0]!.fields).toEqual({
    job_id: '00000000-0000-7000-8000-000000000000',
    plugin: 'echo',
    command: 'handle',
  });
  expect(upTo).toBe(3);
  expect(hub.newest).toBe(4);
});

it('gives a bounded number at a time and goes on where it stopped', () => {
  const hub = new Hub();
  observe(hub, jobs('job.completed', 5));
  expect(readAll(hub, everything, 0, 3)).toMatchObject({ ids: [1, 2, 3], upTo: 3 });
  expect(readAll(hub, everything, 3, 3)).toMatchObject({ ids: [4, 5], upTo: 5 });
  expect(readAll(hub, everything, 5, 3)).toMatchObject({ ids: [], upTo: 5, gap: null });
});

it('tells a reader that was too slow how many it lost', () => {
  const hub = new Hub();
  for (let n = 0; n < 10; n++) observe(hub, jobs('job.completed', 1000));
  const { gap, ids } = readAll(hub, everything, 0, 1);
  expect(gap).toEqual({ id: 10_000 - ringSize, lost: 10_000 - ringSize, reason: 'too_slow' });
  expect(ids).toEqual([10_000 - ringSize + 1]);
});

it('answers an id from the future, and one of an earlier start, with a gap', () => {
  const hub = new Hub(firstIdAt(1_000_000));
  expect(readAll(hub, everything, 2_000_000).gap).toEqual({ id: 999_999, lost: null, reason: 'unknown_id' });
  observe(hub, jobs('job.completed', 1));
  expect(readAll(hub, everything, 70)).toMatchObject({
    gap: { id: 999_999, lost: null, reason: 'restarted' },
    ids: [1_000_000],
  });
});

it('filters by type and by job', () => {
  const hub = new Hub();
  observe(hub, jobs('job.completed', 3), jobs('job.failed', 3));
  const failed = { ...everything, types: new Set(typesOf('job.f*')) };
  expect(readAll(hub, failed, 0).types).toEqual(['job.failed', 'job.failed', 'job.failed']);
  const one = { ...everything, jobId: parseId('00000000-0000-7000-8000-000000000001')! };
  expect(readAll(hub, one, 0)).toMatchObject({ ids: [2, 5], upTo: 6 });
  expect(readAll(hub, one, 0, 1)).toMatchObject({ ids: [2], upTo: 2 });
});

it('knows what a pattern stands for, and which filters want the same', () => {
  expect(typesOf('webhook.*')).toEqual(['webhook.accepted', 'webhook.rejected']);
  expect(typesOf('job.dead')).toEqual(['job.dead']);
  expect(typesOf('jobs.*')).toEqual([]);
  expect(typesOf('*').length).toBeGreaterThan(10);
  const [a, b] = [typesOf('job.*'), typesOf('job.*').toReversed()];
  const key = (types: typeof a) => filterKey({ ...everything, types: new Set(types) });
  expect(key(a)).toBe(key(b));
  expect(key(a)).not.toBe(filterKey(everything));
});

it('holds fewer when they are large: the ring has a bound of bytes, too', () => {
  const ring = new Ring();
  const error = '\u00e9'.repeat(errorCharsMax);
  let most = 0;
  for (let n = 0; n < 3 * ringSize; n++) {
    ring.push({ ...jobs('job.failed', 1), errors: [error] } as Observations);
    most = Math.max(most, ring.bytes);
  }
  expect(most).toBeLessThanOrEqual(ringBytesMax);
  expect(most).toBeGreaterThan(ringBytesMax * 0.9);
  expect(ring.next - ring.oldest).toBeGreaterThan(1000);
  for (let n = 0; n < ringSize; n++) ring.push(jobs('job.completed', 1));
  expect(ring.next - ring.oldest).toBe(ringSize);
  expect([...ring.since(0)].reduce((sum, { bytes }) => sum + bytes, 0)).toBe(ring.bytes);
});

it('a group that is larger than the whole ring is a gap for its readers', () => {
  const hub = new Hub();
  const errors = Array.from({ length: ringSize }, () => 'e'.repeat(errorCharsMax));
  observe(hub, jobs('job.completed', 1), { ...jobs('job.failed', ringSize), errors } as Observations);
  observe(hub, jobs('job.completed', 1));
  expect(readAll(hub, everything, 0)).toMatchObject({
    gap: { id: ringSize + 1, lost: ringSize + 1, reason: 'too_slow' },
    ids: [ringSize + 2],
  });
});

it('cuts the errors of jobs before they leave the ledger, never within a character', () => {
  const observations = new ObservationBuffer();
  const told: Observed[] = [];
  const turn = { tell: (_: string, message: Observed) => void told.push(message) } as unknown as Turn;
  const [long, split] = ['x'.repeat(64 * 1024), `${'x'.repeat(errorCharsMax - 1)}\u{1f600}`];
  for (const error of [long, split, 'short', null])
    observations.job('job.failed', 5, 'p', 'c', Buffer.alloc(16), error);
  observations.job('job.completed', 5, 'p', 'c', Buffer.alloc(16));
  observations.flush(turn);
  const [failed, completed] = told[0]!.groups as [JobObservations, JobObservations];
  expect(failed.errors).toEqual(['x'.repeat(errorCharsMax), 'x'.repeat(errorCharsMax - 1), 'short', null]);
  expect(completed).not.toHaveProperty('errors');
});

/** Jobs 0 to 9 are trees of their own but for 2, 3 and 4, which descend from 1: 2 is a run, 3 a step of it, 4 a step of a run that it calls. */
function origins(): Origins & { work: number } {
  const id = (index: number) => idAt((jobs('job.completed', 10) as JobObservations).ids, index);
  const runs: { readonly [index: number]: readonly string[] } = { 2: [], 3: [id(2)], 4: [id(9), id(2)] };
  return {
    work: 0,
    find(job) {
      this.work++;
      const index = Buffer.from(job).readUInt32BE(12);
      return { root: id(runs[index] ? 1 : index), runs: runs[index] ?? [] };
    },
    ended: () => null,
    refresh: () => {},
  };
}

it('lets through what is of a tree, or of a run and the runs that it calls', () => {
  const hub = new Hub(1, origins());
  observe(hub, jobs('job.completed', 10), {
    kind: 'plain',
    type: 'webhook.accepted',
    atUs: 1,
    fields: { job_id: 'x' },
  });
  const id = (index: number) => idAt((jobs('job.completed', 10) as JobObservations).ids, index);
  const places = (filter: Partial<Filter>) =>
    readAll(hub, { ...everything, ...filter }, 0, 100).ids.map(each => each - 1);
  expect(places({ root: id(1) })).toEqual([1, 2, 3, 4]);
  expect(places({ root: id(2) })).toEqual([]);
  expect(places({ root: 'x' })).toEqual([10]);
  expect(places({ run: id(2) })).toEqual([2, 3, 4]);
  expect(places({ root: id(1), run: id(9) })).toEqual([4]);
  expect(places({ root: id(1), jobId: parseId(id(3))! })).toEqual([3]);
  expect(places({ root: id(5), jobId: parseId(id(3))! })).toEqual([]);
});

it('looks up so much in one reading, once for each event, and nothing where nobody asks', () => {
  const found = origins();
  const hub = new Hub(1, found);
  observe(hub, jobs('job.completed', 1_000));
  readAll(hub, everything, 0, 2_000);
  expect(found.work).toBe(0);
  const ids: number[] = [];
  let readings = 0;
  for (let after = 0; after < hub.newest; readings++) {
    const page = readAll(hub, { ...everything, run: 'nobody' }, after, 2_000);
    expect(page.upTo).toBe(Math.min(1_000, after + readingWorkMax));
    after = page.upTo;
    ids.push(...page.ids);
  }
  expect([ids.length, readings, found.work]).toEqual([0, 4, 1_000]);
  readAll(hub, { ...everything, run: 'somebody' }, 0, 2_000);
  expect(found.work).toBe(1_000);
});
