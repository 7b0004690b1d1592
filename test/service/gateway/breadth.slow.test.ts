// Events that branch without end, in the real service: limited at a time and in total, also over kill -9, and nobody else is refused.
import { expect, test } from 'vitest';
import { startGateway } from './gateway.ts';
import { until } from './until.ts';

const max_jobs_per_root = 500;

test('a plugin that emits its own trigger twice is cut, and honest calls are taken all the while', async () => {
  const gateway = await startGateway({
    service: { max_jobs_per_root, max_queue_depth: 100 },
    plugins: {
      twice: "export const handle = () => ({ events: [{ type: 'again' }, { type: 'again' }] });",
      honest: "export const handle = () => ({ events: [{ type: 'found' }] });",
      listener: 'export const handle = () => ({});',
    },
    pipelines: [
      { name: 'branch', on: 'again', steps: [{ uses: 'twice' }] },
      { name: 'listen', on: 'found', steps: [{ uses: 'listener' }] },
    ],
  });
  const root = await gateway.submit('twice/handle');
  const dead = async () => {
    const { body } = await gateway.call('GET', '/jobs?status=dead');
    return (body['jobs'] as { job_id: string }[])[0];
  };
  let honest = 0;
  let kills = 0;
  const cut = await until('the root has as many descendants as it may', async () => {
    await gateway.submit('honest/handle');
    honest++;
    const { body } = await gateway.call('GET', '/analytics/queue');
    expect(Number(body['queue_depth'])).toBeLessThan(100);
    if (kills < 1 && honest % 3 === 0) {
      kills++;
      await gateway.restart();
    }
    return dead();
  });
  const limit = `${root} has ${max_jobs_per_root} descendants, the most that service.max_jobs_per_root allows`;
  expect((await gateway.job(cut.job_id)).last_error).toMatch(
    new RegExp(`^stopped: ${limit}; the loop: .*pipeline\\.branch → twice\\.handle`),
  );
  await until('all has ended', async () => {
    const { body } = await gateway.call('GET', '/analytics/queue');
    return body['queue_depth'] === 0 && body['running_count'] === 0;
  });
  // The root, its descendants, and the one that was too many.
  expect(await gateway.tree(root)).toHaveLength(1 + max_jobs_per_root + 1);
  await until('all events of the others were heard', async () => {
    const { body } = await gateway.call('GET', '/jobs?plugin=listener&status=succeeded');
    return body['total'] === honest;
  });
  const { body } = await gateway.call('GET', '/system/selfcheck');
  expect(body['failures']).toEqual([]);
});
