// The stopwatch after the clock was set back: until the clock reaches the newest completed_at, jobs end at times that are after now.
import { expect, test } from 'vitest';
import { startClocked } from '../../service/gateway/clock.ts';
import { echo } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';

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

test('what ends from then on is in the index, also if retention has removed all that ended before', async () => {
  const short = { plugins: { echo }, state: { retention: { jobs: '1s' } } };
  const { gateway, clock } = await startClocked('2099-06-01T02:00:00Z', short);
  const count = async (path: string) => Number((await gateway.call('GET', path)).body['total']);
  const submit = async (command: string, text: string) => {
    const call = { payload: { text }, tags: { time: text } };
    const { status, body } = await gateway.call('POST', `/plugin/echo/${command}`, call);
    expect(status).toBe(202);
    return String(body['job_id']);
  };
  await submit('handle', 'early');
  await until('the job is removed', async () => (await count('/jobs')) === 0);
  await gateway.kill9();
  clock.set('2099-06-01T00:00:00Z');
  gateway.write({ plugins: { echo } });
  await gateway.start();
  const job = await gateway.settled(await submit('say', 'late'));
  expect(Date.parse(job.completed_at!)).toBeGreaterThan(Date.parse('2099-06-01T02:00:00Z'));
  await expect.poll(() => count('/job-logs?query=late')).toBe(1);
  await expect.poll(() => count('/jobs?tag=time:late')).toBe(1);
  const steps = async () => (await gateway.call('GET', '/stopwatch/echo?step=say.run')).body['steps'];
  await expect.poll(steps).toMatchObject([{ sample_count: 1 }]);
  expect((await gateway.call('GET', '/system/selfcheck')).body['failures']).toEqual([]);
});
