// Retention in the real service: the tree of an open run is kept whole until the run is over.
import { expect, test } from 'vitest';
import { startGateway } from './gateway.ts';
import { echo, worker } from './sources.ts';
import { until } from './until.ts';

test('jobs of an open run are kept, however few max_jobs says, and go once it is over', async () => {
  const gateway = await startGateway({
    state: { retention: { max_jobs: 100 } },
    plugins: { echo, worker },
    pipelines: [
      {
        name: 'wide',
        steps: [
          { id: 'each', uses: 'echo', foreach: 'payload.list' },
          { id: 'last', uses: 'worker', join: 'all', collect: 'counts', with: { gate: 'last' } },
        ],
      },
    ],
  });
  const total = async (query: string) => Number((await gateway.call('GET', `/jobs?${query}`)).body['total']);
  const run = await gateway.run('wide', { list: Array(1200).fill(1) });
  await gateway.noted('start');
  const others = Array.from({ length: 250 }, () => gateway.submit('echo/say'));
  for (const id of await Promise.all(others)) await gateway.call('GET', `/job/${id}`);
  // A sweep keeps at most `max_jobs` of the other jobs; the jobs of the open run are kept in addition.
  await until('a sweep is over', async () => (await total('plugin=echo&command=say')) <= 100);
  expect(await gateway.tree(run)).toHaveLength(1 + 1200 + 1);
  expect((await gateway.call('GET', '/system/selfcheck')).body['failures']).toEqual([]);
  await gateway.restart();
  expect(await gateway.tree(run)).toHaveLength(1 + 1200 + 1);
  gateway.open('last');
  await until('the run is over, and its jobs are gone', async () => (await total('plugin=echo&command=handle')) <= 100);
});

test.each([
  ['jobs', '/plugin/worker/handle/batch'],
  ['runs', '/pipeline/single/batch'],
])('a batch of %s of which one has not ended leaves max_jobs others', async (_, path) => {
  const gateway = await startGateway({
    state: { retention: { max_jobs: 20 } },
    plugins: { echo, worker },
    pipelines: [{ name: 'single', steps: [{ id: 'only', uses: 'worker' }] }],
  });
  const count = 60;
  const payloads = Array.from({ length: count }, (_, n) => (n === 0 ? { gate: 'late' } : {}));
  expect((await gateway.call('POST', path, { payloads })).status).toBe(202);
  await gateway.noted('end', count - 1);
  const total = async () => Number((await gateway.call('GET', '/jobs?plugin=echo')).body['total']);
  /** Runs more jobs, one after another, so that each has a block of its own. */
  const swept = async () => {
    for (let n = 0; n < 40; n++) await gateway.finished('echo/handle');
    await until('a sweep has removed the oldest', async () => (await total()) <= 20);
    expect(await total()).toBe(20);
  };
  await swept();
  await gateway.restart();
  await swept();
  gateway.open('late');
  await gateway.noted('end', count);
  await swept();
  await until('the batch is gone', async () => Number((await gateway.call('GET', '/jobs')).body['total']) === 20);
  expect((await gateway.call('GET', '/system/selfcheck')).body['failures']).toEqual([]);
});
