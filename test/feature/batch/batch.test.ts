// Batches through the real gateway: many calls in one request and one commit.
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { batchPayloadsMax } from '../../../http/batch.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { type Gateway, type Job, type Status, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { echo, journal, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';

const each = { name: 'each', on: 'each', steps: [{ id: 'only', uses: 'echo' }] };
const pipelines = [each, { name: 'strict', on: 'strict', input_schema: { n: 'integer' }, steps: [{ uses: 'strict' }] }];
const strict = { code: echo, commands: { handle: { input_schema: { n: 'integer' } } } };
const shared = shareGateway({
  plugins: { echo, strict },
  pipelines,
  api: { batch_max_size: '1MB', max_body_size: '64KB' },
});

type Accepted = { readonly job_ids: readonly string[]; readonly accepted: number };
const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

async function batch(
  gateway: Gateway,
  path: string,
  payloads: readonly object[],
  headers?: { [name: string]: string },
) {
  const { status, body } = await gateway.call('POST', `${path}/batch`, { payloads }, headers && { headers });
  return { status, body: body as unknown as Accepted };
}

test.each(['/plugin/echo/handle', '/plugin/echo/say'])(
  'POST %s/batch makes a job of each payload, in order',
  async path => {
    const { status, body } = await batch(shared, path, numbered(3_000));
    expect([status, body.accepted, new Set(body.job_ids).size]).toEqual([202, 3_000, 3_000]);
    for (const n of [0, 1, 1_500, 2_999]) {
      const job = await shared.settled(body.job_ids[n]!);
      expect(job).toMatchObject({ status: 'succeeded', submitted_by: 'api:test', result: { result: { n } } });
    }
  },
);

test('POST /pipeline/{pipeline}/batch makes a run of each payload', async () => {
  const { status, body } = await batch(shared, '/pipeline/each', numbered(200));
  expect([status, body.accepted]).toEqual([202, 200]);
  for (const [n, run] of (await shared.allSettled(body.job_ids)).entries())
    expect(run).toMatchObject({ status: 'succeeded', plugin: 'pipeline', result: { result: { n } } });
});

test('a repeat with the same Idempotency-Key gets the same ids, in either form, and another batch 422', async () => {
  const sizes = { '/plugin/echo/handle': 1_500, '/pipeline/each': 500 };
  for (const [path, size] of Object.entries(sizes)) {
    const headers = { 'Idempotency-Key': `batch of ${path}` };
    const first = await batch(shared, path, numbered(size), headers);
    expect(first).toMatchObject({ status: 202, body: { accepted: size } });
    expect(await batch(shared, path, numbered(size), headers)).toEqual(first);
    const lines = numbered(size).map(payload => JSON.stringify(payload));
    const asLines = { ...headers, 'Content-Type': 'application/x-ndjson' };
    expect((await shared.call('POST', `${path}/batch`, lines.join('\n'), { headers: asLines })).body).toEqual(
      first.body,
    );
    expect((await batch(shared, path, numbered(size - 1), headers)).status).toBe(422);
  }
});

test('a payload of a batch may have the keys "constructor" and "toJSON"', async () => {
  const payload = { constructor: 1, toJSON: 2 };
  for (const path of ['/plugin/echo/handle', '/pipeline/each']) {
    const { status, body } = await batch(shared, path, [payload, { n: 1 }]);
    expect(status).toBe(202);
    expect(await shared.settled(body.job_ids[0]!)).toMatchObject({ status: 'succeeded', result: { result: payload } });
  }
});

test('a payload that does not fit refuses the batch, by index', async () => {
  const payloads = [{ n: 1 }, { n: 'two' }, {}, { n: 'four' }];
  for (const path of ['/plugin/strict/handle', '/pipeline/strict']) {
    const { status, body } = await shared.call('POST', `${path}/batch`, { payloads });
    expect({ path, status, body }).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_payload',
        errors: [
          { index: 1, pointer: '/n', message: 'must be integer' },
          { index: 3, pointer: '/n', message: 'must be integer' },
        ],
      },
    });
    expect((await shared.call('GET', `/jobs?plugin=strict`)).body['total']).toBe(0);
  }
});

test('a body over api.batch_max_size is 413, a payload over api.max_body_size 400', async () => {
  const large = { text: 'x'.repeat(60_000) };
  const full = await shared.call('POST', '/plugin/echo/handle/batch', { payloads: Array(17).fill(large) });
  expect([full.status, (await batch(shared, '/plugin/echo/handle', Array(18).fill(large))).status]).toEqual([202, 413]);
  const { status, body } = await shared.call('POST', '/plugin/echo/handle/batch', {
    payloads: [{}, { text: 'x'.repeat(70_000) }],
  });
  expect([status, body['errors']]).toEqual([
    400,
    [{ index: 1, pointer: '', message: expect.stringMatching(/at most 65536/) }],
  ]);
});

test('a queue that becomes full takes the first payloads and says how many; one that is full is 503', async () => {
  const gateway = await startGateway({ plugins: { worker }, service: { max_queue_depth: 100 } });
  const path = '/plugin/worker/handle';
  const headers = { 'Idempotency-Key': 'partly' };
  const payloads = numbered(150).map(payload => ({ ...payload, gate: 'full' }));
  const first = await batch(gateway, path, payloads, headers);
  expect(first).toMatchObject({ status: 202, body: { accepted: 100 } });
  expect(first.body.job_ids).toHaveLength(100);
  const full = await gateway.call('POST', `${path}/batch`, { payloads: [{}] });
  expect([full.status, full.body['code'], full.headers.get('retry-after')]).toEqual([503, 'queue_full', '1']);
  // The repeated request gets the first answer again, although the queue is full.
  expect(await batch(gateway, path, payloads, headers)).toEqual(first);
  gateway.open('full');
  await gateway.allSettled(first.body.job_ids);
});

test('runs of a batch in a queue that becomes full: the first are accepted', async () => {
  const gateway = await startGateway({ plugins: { echo }, pipelines: [each], service: { max_queue_depth: 100 } });
  const { status, body } = await batch(gateway, '/pipeline/each', numbered(150));
  expect([status, body.accepted, body.job_ids.length]).toEqual([202, 100, 100]);
  for (const run of await gateway.allSettled(body.job_ids)) expect(run.status).toBe('succeeded');
});

test(`a batch of more than ${batchPayloadsMax} payloads is refused, in either form`, async () => {
  const payloads = Array(batchPayloadsMax + 1).fill({});
  const headers = { 'Content-Type': 'application/x-ndjson' };
  const detail = `a batch has at most ${batchPayloadsMax} payloads; divide it into several batches`;
  for (const answer of [
    await shared.call('POST', '/plugin/echo/handle/batch', { payloads }),
    await shared.call('POST', '/plugin/echo/handle/batch', '{}\n'.repeat(payloads.length), { headers }),
  ])
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', detail } });
});

test('a caller that goes away in the middle of its batch leaves no job', async () => {
  const total = async () => (await shared.call('GET', '/jobs?limit=1')).body['total'];
  await allEnded(shared);
  const before = await total();
  const { hostname, port, host } = new URL(shared.url);
  const body = JSON.stringify({ payloads: numbered(100) });
  const head = [
    'POST /plugin/echo/handle/batch HTTP/1.1',
    `Host: ${host}`,
    `Authorization: Bearer ${everythingToken}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  const socket = connect(Number(port), hostname);
  await new Promise<void>(sent => socket.write(`${head}\r\n\r\n${body.slice(0, -1)}`, () => sent()));
  await new Promise<void>(closed => socket.on('close', closed).resetAndDestroy());
  // Once a later job has ended, the service has noticed the end of the connection.
  await shared.finished('echo/say');
  expect(await total()).toBe(Number(before) + 1);
});

test('runs of a batch survive a kill before they have begun; one of them can be cancelled', async () => {
  // The first job holds up all others, so that the last run cannot end before it is cancelled.
  const slow = `${journal}export const handle = ({ event }) => event.payload.n === 0 ? gate('killed').then(() => ({})) : {};`;
  const gateway = await startGateway({
    plugins: { slow },
    instances: { slow: { parallelism: 1 } },
    pipelines: [{ ...each, steps: [{ uses: 'slow' }] }],
  });
  const { status, body } = await batch(gateway, '/pipeline/each', numbered(1_000));
  expect([status, body.accepted]).toEqual([202, 1_000]);
  const last = body.job_ids.at(-1)!;
  expect(await gateway.call('POST', `/job/${last}/cancel`)).toMatchObject({
    status: 200,
    body: { status: 'cancelled' },
  });
  await gateway.kill9();
  gateway.open('killed');
  await gateway.start();
  await allEnded(gateway);
  const statuses = await statusesOfRuns(gateway);
  expect(body.job_ids.map(id => statuses.get(id))).toEqual([...Array(999).fill('succeeded'), 'cancelled']);
  // The cancelled run has a job if it had begun by then.
  const ofCancelled = (await gateway.tree(last)).length - 1;
  expect((await gateway.call('GET', '/jobs?plugin=slow&limit=1')).body['total']).toBe(999 + ofCancelled);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

/** Resolves once no job is open, so that no job makes further ones. */
function allEnded(gateway: Gateway): Promise<unknown> {
  return until('all jobs and runs have ended', async () => {
    const { stats } = (await gateway.call('GET', '/analytics/summary')).body as { stats: { [status: string]: number } };
    return stats['queued'] === 0 && stats['running'] === 0;
  });
}

/** Reads whole pages: a thousand single reads would take most of the time of the test. */
async function statusesOfRuns(gateway: Gateway): Promise<Map<string, Status>> {
  const statuses = new Map<string, Status>();
  for (let cursor = ''; ; ) {
    const { body } = await gateway.call('GET', `/jobs?plugin=pipeline&limit=200${cursor}`);
    const { jobs, next_cursor: next } = body as { readonly jobs: readonly Job[]; readonly next_cursor?: string };
    for (const { job_id: id, status } of jobs) statuses.set(id, status);
    if (next === undefined) return statuses;
    cursor = `&cursor=${next}`;
  }
}

test('a pause with reject refuses a batch, and keeps nothing of it', async () => {
  await allEnded(shared);
  for (const [target, path] of [
    ['plugin/echo', '/plugin/echo/say'],
    ['pipeline/each', '/pipeline/each'],
  ] as const) {
    const total = async () => (await shared.call('GET', '/jobs?limit=1')).body['total'];
    const before = await total();
    await shared.call('POST', `/control/${target}/pause`, { reject: true, for: '10h' });
    const answer = await shared.call('POST', `${path}/batch`, { payloads: numbered(3) });
    expect([answer.status, answer.body['code']]).toEqual([503, 'paused']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(35_000);
    await shared.call('POST', `/control/${target}/resume`);
    expect(await total()).toBe(before);
  }
});
