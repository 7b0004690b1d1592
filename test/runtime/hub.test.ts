// The hub: a ring that is read at each subscriber's own pace; whoever is too slow hears how much was lost.
import { expect, it } from 'vitest';
import { startHub } from '../../actors/hub/actor.ts';
import type { Observations } from '../../actors/hub/protocol.ts';
import { ringSize } from '../../actors/hub/ring.ts';
import type { Turn } from '../../runtime/turn.ts';

const turn = null as unknown as Turn;
const all = { types: null, jobId: null };

function jobs(type: 'job.completed' | 'job.failed', count: number): Observations {
  const ids = Buffer.alloc(16 * count);
  for (let i = 0; i < count; i++) ids.writeUInt32BE(i, i * 16 + 12);
  return { kind: 'jobs', type, atUs: 5, plugin: 'echo', command: 'handle', ids };
}

function observe(hub: ReturnType<typeof startHub>, ...groups: Observations[]): void {
  hub.receive([{ kind: 'observed', groups }], turn);
}

it('wakes subscribers and gives them each observation once, numbered from 1', () => {
  const hub = startHub();
  let woken = 0;
  const subscription = hub.subscribe(all, () => woken++);
  observe(hub, jobs('job.completed', 2), { kind: 'plain', type: 'config.reloaded', atUs: 6, fields: { kept: '' } });
  expect(woken).toBe(1);
  expect(subscription.read(10).map(({ id, type }) => [id, type])).toEqual([
    [1, 'job.completed'],
    [2, 'job.completed'],
    [3, 'config.reloaded'],
  ]);
  expect(subscription.read(10)).toEqual([]);
});

it('gives a bounded number at a time and goes on where it stopped', () => {
  const hub = startHub();
  const subscription = hub.subscribe(all, () => {});
  observe(hub, jobs('job.completed', 5));
  expect(subscription.read(3).map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(subscription.ready).toBe(true);
  expect(subscription.read(3).map(({ id }) => id)).toEqual([4, 5]);
  expect(subscription.ready).toBe(false);
});

it('replays what the ring still holds, from a given id', () => {
  const hub = startHub();
  observe(hub, jobs('job.completed', 5));
  expect(
    hub
      .subscribe(all, () => {}, 3)
      .read(10)
      .map(({ id }) => id),
  ).toEqual([4, 5]);
});

it('tells a subscriber that was too slow how many it lost', () => {
  const hub = startHub();
  const subscription = hub.subscribe(all, () => {});
  for (let n = 0; n < 10; n++) observe(hub, jobs('job.completed', 1000));
  const [gap, next] = subscription.read(2);
  expect(gap).toMatchObject({ type: 'gap', fields: { lost: 10_000 - ringSize } });
  expect(next?.id).toBe(10_000 - ringSize + 1);
});

it('answers an id from the future with a gap', () => {
  const hub = startHub();
  expect(hub.subscribe(all, () => {}, 99).read(1)[0]).toMatchObject({ type: 'gap', fields: { lost: 0 } });
});

it('filters by type, with a star at the end, and by job', () => {
  const hub = startHub();
  const byType = hub.subscribe({ types: ['job.f*'], jobId: null }, () => {});
  const byJob = hub.subscribe({ types: null, jobId: '00000000-0000-0000-0000-000000000001' }, () => {});
  observe(hub, jobs('job.completed', 3), jobs('job.failed', 3));
  expect(byType.read(10).map(({ type }) => type)).toEqual(['job.failed', 'job.failed', 'job.failed']);
  expect(byJob.read(10).map(({ id }) => id)).toEqual([2, 5]);
});
