// Direct calls, pipeline calls that wait or do not, and health.
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { formatId } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import { can } from './differences.ts';
import { type Gateway, startGateway } from './gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.server.close());
beforeEach(() => {
  gateway.engine.submissions.length = 0;
  gateway.engine.runs.length = 0;
  gateway.engine.unwatched.length = 0;
  gateway.engine.onWatched = () => {};
});

async function post(path: string, body?: unknown, token = 'root-token') {
  const answer = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const anyId = expect.stringMatching(/^[0-9a-f-]{36}$/);

describe('POST /plugin/{plugin}/{command}', () => {
  test('answers 202 once the job is accepted, and hands the payload on packed', async () => {
    const payload = { a: [1, 2.5, null], b: { c: 'é😀' } };
    const { status, body } = await post('/plugin/echo/look', { payload });
    expect([status, body]).toEqual([202, { job_id: anyId, status: 'queued', plugin: 'echo', command: 'look' }]);
    const [submission] = gateway.engine.submissions;
    expect(submission).toMatchObject({ plugin: 'echo', command: 'look', submittedBy: 'api:root', event: null });
    expect(unpack(submission!.payload)).toEqual(payload);
  });

  test('wraps the payload of handle into an event of type api.trigger', async () => {
    await post('/plugin/echo/handle', { payload: { a: 1 } });
    expect(gateway.engine.submissions[0]!.event).toEqual({ type: 'api.trigger', source: 'api' });
    expect(unpack(gateway.engine.submissions[0]!.payload)).toEqual({ a: 1 });
  });

  test('an empty body, or one without payload, is an empty payload', async () => {
    for (const body of [undefined, {}]) {
      expect((await post('/plugin/echo/handle', body)).status).toBe(202);
      expect(unpack(gateway.engine.submissions.at(-1)!.payload)).toEqual({});
    }
  });

  test('a token without a name submits as api', async () => {
    await post('/plugin/echo/handle', {}, 'nameless-token');
    expect(gateway.engine.submissions[0]!.submittedBy).toBe('api');
  });

  test('names in the path may be percent-encoded', async () => {
    expect((await post('/plugin/%65cho/handl%65', {})).status).toBe(202);
  });
});

describe('POST /pipeline/{pipeline}', () => {
  const asPipeline = (name: string) => ({ job_id: anyId, status: 'queued', plugin: 'pipeline', command: name });

  test('an asynchronous pipeline, or ?async=true, answers 202 at once', async () => {
    expect(await post('/pipeline/later', { payload: { a: 1 } })).toEqual({ status: 202, body: asPipeline('later') });
    expect(await post('/pipeline/now?async=true')).toEqual({ status: 202, body: asPipeline('now') });
    expect(await post('/pipeline/forked?async=true')).toEqual({ status: 202, body: asPipeline('forked') });
    expect(await post('/pipeline/later?async=false')).toEqual({ status: 202, body: asPipeline('later') });
    expect(gateway.engine.runs.map(({ pipeline }) => pipeline)).toEqual(['later', 'now', 'forked', 'later']);
  });

  test.each(['succeeded', 'failed'] as const)(
    'a synchronous run that %s answers 200 with its status and tree',
    async end => {
      gateway.engine.onWatched = (id, settled) => {
        const run = gateway.engine.addJob(end, { jobId: formatId(id), plugin: 'pipeline', command: 'now' });
        gateway.engine.addJob('succeeded', { parentJobId: run.jobId });
        settled();
      };
      const { status, body } = await post('/pipeline/now', { payload: {} });
      const result = { status: 'ok', result: { n: 1 }, events: [], state_updates: {}, logs: [] };
      const ofRun = { ...result, status: end === 'succeeded' ? 'ok' : 'error' };
      expect([status, body]).toEqual([
        200,
        {
          job_id: anyId,
          status: end,
          duration_ms: 1001,
          result: ofRun,
          tree: [
            { job_id: body['job_id'], plugin: 'pipeline', command: 'now', status: end, result: ofRun },
            { job_id: anyId, plugin: 'echo', command: 'handle', status: 'succeeded', result },
          ],
        },
      ]);
      expect(gateway.engine.unwatched).toEqual([]);
    },
  );

  test('a tree of more than 1,000 jobs is cut there, and says so', async () => {
    gateway.engine.onWatched = (id, settled) => {
      const run = gateway.engine.addJob('succeeded', { jobId: formatId(id), plugin: 'pipeline', command: 'now' });
      for (let n = 0; n < 1_000; n++) gateway.engine.addJob('succeeded', { parentJobId: run.jobId });
      settled();
    };
    const { body } = await post('/pipeline/now');
    expect([(body['tree'] as object[]).length, body['tree_truncated']]).toEqual([1_000, true]);
  });

  test('a run that has settled, but cannot be read right now, is no failure of the call', async () => {
    const { engine } = gateway;
    vi.spyOn(engine, 'smallTree').mockReturnValue(undefined);
    vi.spyOn(engine.reads, 'answer').mockResolvedValue({
      kind: 'refused',
      refusal: 'unavailable',
      detail: 'the thread is down',
    });
    onTestFinished(() => void vi.restoreAllMocks());
    engine.onWatched = (id, settled) => {
      engine.addJob('failed', { jobId: formatId(id), plugin: 'pipeline', command: 'now' });
      settled();
    };
    const { status, body } = await post('/pipeline/now');
    expect([status, body]).toEqual([
      202,
      { job_id: anyId, status: 'failed', timeout_exceeded: false, message: expect.stringContaining('/tree') },
    ]);
  });

  test('a run that is not finished in time answers 202, and is watched no more', async () => {
    const { status, body } = await post('/pipeline/impatient');
    expect([status, body]).toEqual([
      202,
      { job_id: anyId, status: 'running', timeout_exceeded: true, message: expect.stringContaining('within 1 s') },
    ]);
    expect(gateway.engine.unwatched).toEqual([body['job_id']]);
  });

  test('while too many callers wait, one more is answered at once, and told where its job is', async () => {
    gateway.engine.isCrowded = true;
    onTestFinished(() => {
      gateway.engine.isCrowded = false;
    });
    const { status, body } = await post('/pipeline/now');
    const message = `Too many callers wait (at most 16384). The run continues; follow it at /job/${body['job_id']}.`;
    expect([status, body]).toEqual([202, { job_id: anyId, status: 'running', timeout_exceeded: false, message }]);
    const { jobId } = gateway.engine.addJob('queued');
    const headers = { Authorization: 'Bearer root-token', Prefer: 'wait=30' };
    const answer = await fetch(`${gateway.url}/job/${jobId}`, { headers });
    // The preference was not applied.
    expect([answer.status, answer.headers.get('Preference-Applied')]).toEqual([202, null]);
    expect(await answer.json()).toMatchObject({ job_id: jobId, status: 'queued' });
  });

  const isNoticed = can('a caller that disconnects during a synchronous call');
  test.runIf(isNoticed)('a caller that goes away while waiting is watched for no more', async () => {
    const started = new Promise<void>(resolve => {
      gateway.engine.onWatched = () => resolve();
    });
    const socket = connect(gateway.server.port, '127.0.0.1');
    const request = ['POST /pipeline/now HTTP/1.1', 'Host: x', 'Authorization: Bearer root-token', '', ''];
    socket.write(request.join('\r\n'));
    await started;
    socket.destroy();
    await expect.poll(() => gateway.engine.unwatched.length).toBe(1);
  });
});

describe('GET /healthz', () => {
  test('tells all fields of the interface, to anybody', async () => {
    const answer = await fetch(`${gateway.url}/healthz`);
    expect([answer.status, answer.headers.get('Cache-Control')]).toEqual([200, null]);
    expect(await answer.json()).toEqual({
      status: 'ok',
      uptime_seconds: 90,
      queue_depth: 3,
      plugins_loaded: 1,
      config_path: '/etc/headgate/config.yaml',
      binary_path: process.argv[1],
      version: '0.1.0',
    });
  });
});
