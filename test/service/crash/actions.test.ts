// kill -9 in the midst of an action over many jobs: it goes on by itself, and touches each job exactly once.
import { expect, onTestFinished, test } from 'vitest';
import { formatId } from '../../../runtime/ids.ts';
import { countOf } from '../../support/deep.ts';
import { Gateway } from '../gateway/gateway.ts';
import { step } from '../gateway/sources.ts';
import { tamper } from '../gateway/tamper.ts';
import { until } from '../gateway/until.ts';

const jobs = countOf({ deep: 100_000, quick: 4_000 });
const kills = 3;
/** Slow enough to be met on its way. */
const perSecond = jobs / 4;
const quiet = { code: 'export const handle = () => ({});' };
const settings = {
  plugins: { step, quiet },
  pipelines: [{ name: 'many', steps: [{ id: 'each', uses: 'quiet', foreach: 'payload.list' }] }],
  service: { log_level: 'info', max_queue_depth: 1_000_000 },
};

test(`a rerun of ${jobs} jobs, killed ${kills} times, runs each exactly once`, { timeout: 600_000 }, async () => {
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  await gateway.start();
  const run = await gateway.run('many', { list: Array.from({ length: jobs }, (_, n) => n) });
  await gateway.settled(run, 300_000);
  const where = { run, plugin: 'quiet', children: true };
  const { status, body } = await gateway.call('POST', '/actions', { do: 'rerun', where, per_second: perSecond });
  expect([status, body['matched']]).toEqual([202, jobs]);
  const path = `/action/${body['action_id']}`;
  const doneOf = async () => Number((await gateway.call('GET', path)).body['done']);
  for (let kill = 1; kill <= kills; kill++) {
    await until(`kill ${kill}`, async () => (await doneOf()) >= (jobs * kill) / (kills + 2));
    await gateway.restart();
    expect(await doneOf()).toBeLessThan(jobs);
  }
  const isOver = async () => (await gateway.call('GET', path)).body['state'] !== 'running';
  await until('the action has ended', isOver, 120_000);
  expect((await gateway.call('GET', path)).body).toMatchObject({
    ...{ state: 'succeeded', matched: jobs, done: jobs, skipped: {}, failed: 0 },
  });
  const all = async () => (await gateway.call('GET', '/analytics/queue')).body;
  await until('what it started has ended', async () => Number((await all())['queue_depth'] ?? 0) === 0, 120_000);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok' });
  await gateway.term();
  tamper(gateway, (_, reader) => {
    const reruns = Array.from(reader.keys('reruns', {}), key => formatId(Buffer.from(key.subarray(0, 16))));
    expect(reruns.length).toBe(jobs);
    expect(new Set(reruns).size).toBe(jobs);
    expect(reader.count('actions')).toBe(0);
  });
});
