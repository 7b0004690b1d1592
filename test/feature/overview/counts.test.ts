// GET /counts: how many jobs of each command, and runs of each pipeline, are stored with which status.
import { expect, test } from 'vitest';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, failing } from '../../service/gateway/sources.ts';

const gateway = shareGateway({
  plugins: { echo, failing },
  instances: { failing: { retry: { max_attempts: 1 } } },
  pipelines: [
    { name: 'twice', steps: [{ uses: 'echo' }, { uses: 'echo' }] },
    { name: 'broken', steps: [{ uses: 'failing' }] },
  ],
});

const none = { queued: 0, running: 0, succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: 0 };

async function counts(): Promise<object[]> {
  const { status, body } = await gateway.call('GET', '/counts');
  expect(status).toBe(200);
  return body['counts'] as object[];
}

test('jobs are counted by command and status, and runs by pipeline', async () => {
  expect(await counts()).toEqual([]);
  for (const path of ['/plugin/echo/handle', '/pipeline/twice', '/pipeline/broken'])
    expect((await gateway.call('POST', `${path}?wait=60s`, {})).status).toBe(200);
  expect(await counts()).toEqual([
    { plugin: 'echo', command: 'handle', ...none, succeeded: 3 },
    { plugin: 'failing', command: 'handle', ...none, failed: 1 },
    { plugin: 'pipeline', command: 'broken', ...none, failed: 1 },
    { plugin: 'pipeline', command: 'twice', ...none, succeeded: 1 },
  ]);
});

test('a job that a pause holds is queued', async () => {
  await gateway.call('POST', '/control/plugin/echo/pause', {});
  await gateway.call('POST', '/plugin/echo/handle', {});
  expect(await counts()).toContainEqual({ plugin: 'echo', command: 'handle', ...none, queued: 1, succeeded: 3 });
  await gateway.call('POST', '/control/plugin/echo/resume', {});
});
