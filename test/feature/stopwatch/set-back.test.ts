// The stopwatch after the clock was set back: until the clock reaches the newest completed_at, jobs end at times that are after now.
import { expect, test } from 'vitest';
import { startClocked } from '../../service/gateway/clock.ts';
import { echo } from '../../service/gateway/sources.ts';

test('shows what ends from then on', async () => {
  const { gateway, clock } = await startClocked('2099-06-01T02:00:00Z', { plugins: { echo } });
  await gateway.finished('echo/handle');
  await gateway.kill9();
  clock.set('2099-06-01T00:00:00Z');
  await gateway.start();
  for (let n = 0; n < 5; n++) await gateway.finished('echo/handle');
  const samples = async (query: string) => {
    const { body } = await gateway.call('GET', `/stopwatch/echo?step=handle.run&${query}`);
    return (body['steps'] as readonly { readonly sample_count: number }[])[0]!.sample_count;
  };
  // The answer waits for the index, but only for a limited time.
  await expect.poll(() => samples('since=2099-05-31T23:00:00Z')).toBe(6);
  expect(await samples('')).toBe(6);
  expect(await samples('since=2099-05-31T23:00:00Z&to=2099-06-01T00:30:00Z')).toBe(0);
});
