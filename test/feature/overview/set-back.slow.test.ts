// What is going on after the clock was set back: until the clock reaches the newest completed_at, jobs end at times that are after now.
// The dates are far ahead, because the ledger begins no earlier than the real time.
import { expect, test } from 'vitest';
import { startClocked } from '../../service/gateway/clock.ts';
import type { Gateway } from '../../service/gateway/gateway.ts';
import { echo, failing, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { scrape } from '../metrics/scrape.ts';

type Group = { readonly count: number; readonly trend: readonly number[] };
type Overview = {
  readonly captured_at: string;
  readonly queue: { readonly oldest_queued_at: string | null };
  readonly recent: { readonly [field: string]: number | null };
  readonly trend: { readonly settled: readonly number[]; readonly failed: readonly number[] };
  readonly lanes: readonly { readonly plugin: string; readonly [field: string]: unknown }[];
  readonly failure_groups: readonly Group[];
};

const settings = {
  plugins: { echo, failing, worker },
  instances: {
    failing: { retry: { max_attempts: 1 } },
    worker: { parallelism: 1, timeouts: { handle: '1d' } },
  },
};

const overviewOf = async (gateway: Gateway) => (await gateway.call('GET', '/overview')).body as unknown as Overview;

/** Jobs end, one of them as failed: the overview and the list of failures count them as those that end now. */
async function seesWhatEnds(gateway: Gateway): Promise<void> {
  for (const _ of [1, 2, 3]) await gateway.finished('echo/handle');
  await gateway.finished('failing/handle');
  const seen = await until('the failure is indexed', async () => {
    const now = await overviewOf(gateway);
    return now.failure_groups.length > 0 && now;
  });
  expect(seen.recent['settled_count']).toBeGreaterThanOrEqual(4);
  expect(seen.recent['per_second']).toBeGreaterThan(0);
  expect(seen.recent['error_rate']).toBeGreaterThan(0);
  expect(seen.recent).not.toMatchObject({ run_p95_us: null });
  expect(seen.recent).not.toMatchObject({ queue_p95_us: null });
  expect(seen.lanes.find(({ plugin }) => plugin === 'failing')).not.toMatchObject({ run_p95_us: null });
  expect(seen.trend.failed.at(-1)! + seen.trend.failed.at(-2)!).toBe(1);
  const { failures } = (await gateway.call('GET', '/failures')).body as { failures: readonly Group[] };
  for (const { count, trend } of [...seen.failure_groups, ...failures]) {
    expect(count).toBe(1);
    expect(trend.at(-1)! + trend.at(-2)!).toBe(1);
  }
  expect(failures).toHaveLength(1);
}

test('shows what ends from then on, without a restart', async () => {
  const { gateway, clock } = await startClocked('2099-06-01T02:00:00Z', settings);
  await gateway.finished('echo/handle');
  clock.set('2099-06-01T00:00:00Z');
  await seesWhatEnds(gateway);
});

test('shows what ends from then on, after a restart', async () => {
  const { gateway, clock } = await startClocked('2099-06-01T02:00:00Z', settings);
  await gateway.finished('echo/handle');
  await gateway.kill9();
  clock.set('2099-06-01T00:00:00Z');
  await gateway.start();
  await seesWhatEnds(gateway);
});

test('a job that waits has waited since its acceptance, even if its id has a later time', async () => {
  const { gateway, clock } = await startClocked('2099-06-01T02:00:00Z', settings);
  await gateway.finished('echo/handle');
  await gateway.kill9();
  clock.set('2099-06-01T00:00:00Z');
  await gateway.start();
  await gateway.noted('start', await gateway.submit('worker/handle', { gate: 'end' }));
  const { created_at } = await gateway.job(await gateway.submit('worker/handle'));
  for (const [time, seconds] of [
    ['2099-06-01T00:20:00Z', 1_200],
    ['2099-06-01T02:20:00Z', 8_400],
  ] as const) {
    clock.set(time);
    const age = await until(`a report at ${time}`, async () => {
      const found = (await scrape(gateway)).sum('headgate_lane_oldest_queued_seconds', { plugin: 'worker' });
      return found > seconds - 60 && found;
    });
    expect(age).toBeLessThan(seconds + 60);
    const { queue, lanes } = await overviewOf(gateway);
    expect(lanes.find(({ plugin }) => plugin === 'worker')).toMatchObject({ oldest_queued_at: created_at });
    expect(queue.oldest_queued_at).toBe(created_at);
  }
});

test('a job that waits grows older while the ledger is ahead of the clock', async () => {
  const { gateway, clock } = await startClocked('2099-06-01T02:00:00Z', settings);
  await gateway.noted('start', await gateway.submit('worker/handle', { gate: 'end' }));
  clock.set('2099-06-01T00:00:00Z');
  const { created_at } = await gateway.job(await gateway.submit('worker/handle'));
  expect(Date.parse(created_at)).toBeGreaterThanOrEqual(Date.parse('2099-06-01T02:00:00Z'));
  await until('its age is reported', async () => {
    return (await scrape(gateway)).sum('headgate_lane_oldest_queued_seconds', { plugin: 'worker' }) > 0;
  });
  const { captured_at, queue } = await overviewOf(gateway);
  expect(captured_at > queue.oldest_queued_at!).toBe(true);
});
