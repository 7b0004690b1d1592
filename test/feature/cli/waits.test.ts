// What a cancel answers if the ledger refuses it. What a job waits for is left out where the ledger does not answer in time, or cannot be asked.
// What `job why` says of a run and of a job that has ended.
import { expect, test } from 'vitest';
import { Hub } from '../../../actors/hub/hub.ts';
import { jobId } from '../../../runtime/ids.ts';
import { type EngineOptions, openEngine } from '../../../service/engine.ts';
import { canary } from '../../service/canary/canary.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, failing } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { makeConfig } from '../../unit/http/gateway.ts';
import { headgate } from './headgate.ts';

const statusToken = canary('token for statuses');
const gateway = shareGateway({
  plugins: { echo, failing },
  instances: { failing: { retry: { max_attempts: 1 } } },
  pipelines: [
    { name: 'many', steps: [{ id: 'each', uses: 'echo', foreach: 'payload.list' }] },
    { name: 'outer', steps: [{ id: 'inside', call: 'many' }] },
  ],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'statuses', token: statusToken, scopes: ['jobs:status:ro'] },
      ],
    },
  },
});

function why(job: string, token = everythingToken, ...words: string[]) {
  return headgate(['job', 'why', job, ...words], { env: { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: token } });
}

const id = jobId(Buffer.alloc(12, 1), 0);
const waits = { reason: 'plugin', detail: 'it is gone', sinceUs: 1 };

function engineThatAsks(ask: () => Promise<unknown>) {
  const parts = { link: { ask }, hub: new Hub(), reader: {}, config: makeConfig, uiSessions: { endings: 0 } };
  return openEngine(parts as unknown as EngineOptions);
}

test('a cancel that the ledger refuses says why', async () => {
  const refused = { kind: 'refused', refusal: 'disk_full' };
  const engine = engineThatAsks(async () => refused);
  expect(await engine.cancel({ id, by: 'api:test', reason: null })).toEqual(refused);
});

test.each([
  ['an answer', async () => ({ kind: 'waits', waits }), waits],
  ['no reason', async () => ({ kind: 'waits', waits: null }), null],
  ['a refusal', async () => ({ kind: 'refused', refusal: 'unavailable' }), null],
  ['a ledger that has ended', () => Promise.reject(new Error('it ended')), null],
  ['silence', () => new Promise(() => {}), null],
])('%s', async (_, ask, expected) => {
  expect(await engineThatAsks(ask).waits(id)).toEqual(expected);
});

test('job why says of a run what the jobs inside it wait for', async () => {
  await gateway.call('POST', '/control/plugin/echo/pause', { reason: 'carrier down' });
  const run = await gateway.run('outer', { list: [1, 2, 3] });
  const said = await until('its jobs wait', async () => {
    const { stdout } = await why(run);
    return stdout.includes('3 of them') ? stdout : null;
  });
  expect(said).toMatch(/^pipeline\.outer waits for its jobs: .+\); 3 of them are queued: echo\.handle is paused: /);
  expect(said).toMatch(/: the plugin echo is paused by api:test: carrier down \(since .+\)\n$/);
  expect((await why(run, everythingToken, '--json')).json).toMatchObject({
    waits_for: { reason: 'children' },
    newest_queued: { job_id: expect.any(String), waits_for: { reason: 'paused' } },
  });
  // This token may not list jobs.
  expect((await why(run, statusToken)).stdout).toMatch(/^pipeline\.outer waits for its jobs: [^;]+\n$/);
  await gateway.call('POST', '/control/plugin/echo/resume', {});
  await gateway.settled(run);
});

test('job why says of a job that failed the first line of its error, if the token may read it', async () => {
  const { job_id } = await gateway.finished('failing/handle', { message: 'no paper\nsecond line' });
  expect((await why(job_id)).stdout).toMatch(/^failing\.handle ended at [^:]+:[^:]+:[^:]+: (failed|dead): no paper\n$/);
  expect((await why(job_id, everythingToken, '--json')).json.last_error).toBe('no paper\nsecond line');
  expect((await why(job_id, statusToken)).stdout).toMatch(/: (failed|dead)\n$/);
});
