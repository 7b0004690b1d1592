// The header Idempotency-Key on the two execution routes: one key, one job, the same answer.
import { expect, test } from 'vitest';
import { Idempotency, rememberedUs } from '../../actors/job/idempotency.ts';
import { idempotencyKeyCharsMax } from '../../http/idempotency.ts';
import { openMemoryStore } from '../../runtime/store/memory.ts';
import { type Gateway, startGateway } from '../gateway/gateway.ts';
import { echo, step, worker } from '../gateway/sources.ts';

const pipelines = [
  { name: 'now', on: 'now', execution_mode: 'synchronous', timeout_secs: 20, steps: [{ id: 'only', uses: 'worker' }] },
  { name: 'short', on: 'short', execution_mode: 'synchronous', timeout_secs: 1, steps: [{ uses: 'worker' }] },
  { name: 'later', on: 'later', steps: [{ id: 'only', uses: 'worker' }] },
];
const settings = { plugins: { echo, worker, step }, pipelines };

async function post(gateway: Gateway, path: string, key: string, payload?: unknown, token?: string) {
  const headers = { 'Idempotency-Key': key };
  const body = payload === undefined ? undefined : { payload };
  const answer = await gateway.call('POST', path, body, { headers, ...(token && { token }) });
  return { status: answer.status, body: answer.body };
}

async function jobs(gateway: Gateway): Promise<number> {
  const { stats } = (await gateway.call('GET', '/analytics/summary')).body as { stats: Record<string, number> };
  return Object.values(stats).reduce((sum, count) => sum + count, 0);
}

test('the same request with the same key gets the first answer again and enqueues nothing', async () => {
  const gateway = await startGateway(settings);
  for (const path of ['/plugin/echo/handle', '/pipeline/later?async=true']) {
    const first = await post(gateway, path, path, { a: 1, b: [2] });
    expect(first.status).toBe(202);
    await gateway.settled(String(first.body['job_id']));
    const before = await jobs(gateway);
    // The order of keys in an object says nothing.
    expect(await post(gateway, path, path, { b: [2], a: 1 })).toEqual(first);
    expect(await jobs(gateway)).toBe(before);
  }
});

test('with another request the key is 422 idempotency_mismatch', async () => {
  const gateway = await startGateway(settings);
  await post(gateway, '/plugin/echo/handle', 'k', { a: 1 });
  for (const [path, payload] of [
    ['/plugin/echo/handle', { a: 2 }],
    ['/plugin/echo/handle', undefined],
    ['/plugin/echo/say', { a: 1 }],
    ['/plugin/worker/handle', { a: 1 }],
    ['/pipeline/later', { a: 1 }],
    ['/pipeline/now', { a: 1 }],
  ] as const) {
    const { status, body } = await post(gateway, path, 'k', payload);
    expect({ path, status, code: body['code'] }).toEqual({ path, status: 422, code: 'idempotency_mismatch' });
  }
  await post(gateway, '/pipeline/later', 'p');
  expect((await post(gateway, '/pipeline/later?async=true', 'p')).status).toBe(422);
  expect((await post(gateway, '/plugin/echo/handle', 'p')).status).toBe(422);
});

test('keys belong to a token', async () => {
  const tokens = ['token-of-the-first', 'token-of-the-second'].map(token => ({ token, scopes: ['*'] }));
  const gateway = await startGateway({ ...settings, api: { auth: { tokens } } });
  const ids = [];
  for (const { token } of [...tokens, ...tokens]) {
    ids.push((await post(gateway, '/plugin/echo/handle', 'k', { a: 1 }, token)).body['job_id']);
  }
  expect(ids.slice(2)).toEqual(ids.slice(0, 2));
  expect(ids[0]).not.toBe(ids[1]);
});

test('an answer of 4xx is not remembered', async () => {
  const gateway = await startGateway(settings);
  expect((await post(gateway, '/plugin/echo/nothing', 'k', {})).status).toBe(404);
  expect((await post(gateway, '/plugin/echo/handle', 'k', 'no object')).status).toBe(400);
  expect((await post(gateway, '/plugin/echo/handle', 'k', {})).status).toBe(202);
});

test('no work is taken, the key is not remembered; but what was answered is answered again', async () => {
  const gateway = await startGateway({ ...settings, service: { max_queue_depth: 1 } });
  const first = await post(gateway, '/plugin/worker/handle', 'first', { gate: 'all' });
  expect((await post(gateway, '/plugin/worker/handle', 'second', {})).status).toBe(503);
  expect(await post(gateway, '/plugin/worker/handle', 'first', { gate: 'all' })).toEqual(first);
  gateway.open('all');
  await gateway.settled(String(first.body['job_id']));
  expect((await post(gateway, '/plugin/worker/handle', 'second', {})).status).toBe(202);
});

test('100 calls at once with one key are one job', async () => {
  const gateway = await startGateway(settings);
  for (const path of ['/plugin/worker/handle', '/pipeline/later', '/pipeline/now']) {
    const answers = await Promise.all(Array.from({ length: 100 }, () => post(gateway, path, path, { a: 1 })));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    await gateway.settled(String(answers[0]!.body['job_id']));
  }
  expect(gateway.journal().filter(({ what }) => what === 'start')).toHaveLength(3);
});

test('the second call after kill -9 gets the answer of the first', async () => {
  const gateway = await startGateway(settings);
  const paths = ['/plugin/worker/handle', '/pipeline/later'];
  const first = await Promise.all(paths.map(path => post(gateway, path, path, { gate: 'all' })));
  await gateway.restart();
  expect(await Promise.all(paths.map(path => post(gateway, path, path, { gate: 'all' })))).toEqual(first);
  gateway.open('all');
  for (const { body } of first) await gateway.settled(String(body['job_id']));
});

test('a synchronous call is waited for by all who repeat it', async () => {
  const gateway = await startGateway(settings);
  const first = post(gateway, '/pipeline/now', 'k', { gate: 'all' });
  await gateway.noted('start');
  const second = post(gateway, '/pipeline/now', 'k', { gate: 'all' });
  await new Promise(resolve => setTimeout(resolve, 100));
  gateway.open('all');
  expect(await first).toMatchObject({ status: 200, body: { status: 'succeeded' } });
  expect(await second).toEqual(await first);
  expect(await post(gateway, '/pipeline/now', 'k', { gate: 'all' })).toEqual(await first);
  await gateway.restart();
  expect(await post(gateway, '/pipeline/now', 'k', { gate: 'all' })).toEqual(await first);
});

test('a synchronous call that was not finished in time is answered as it stands when it is repeated', async () => {
  const gateway = await startGateway(settings);
  const first = await post(gateway, '/pipeline/short', 'k', { gate: 'all' });
  expect(first).toMatchObject({ status: 202, body: { timeout_exceeded: true } });
  gateway.open('all');
  const id = String(first.body['job_id']);
  await gateway.settled(id);
  const second = await post(gateway, '/pipeline/short', 'k', { gate: 'all' });
  expect(second).toMatchObject({ status: 200, body: { job_id: id, status: 'succeeded' } });
});

test('a key has a length', async () => {
  const gateway = await startGateway(settings);
  const longest = 'k'.repeat(idempotencyKeyCharsMax);
  expect((await post(gateway, '/plugin/echo/handle', longest, {})).status).toBe(202);
  for (const key of ['', `${longest}k`]) {
    const { status, body } = await post(gateway, '/plugin/echo/handle', key, {});
    expect({ status, code: body['code'] }).toEqual({ status: 400, code: 'invalid_idempotency_key' });
  }
});

test('after 24 h a key is new again, and goes in small steps', () => {
  const store = openMemoryStore();
  const idempotency = new Idempotency(store);
  const id = Buffer.alloc(16, 7);
  const keyOf = (n: number) => ({ key: Buffer.alloc(16, n), request: Buffer.alloc(16, 1) });
  const inTurn = <T>(nowUs: number, act: (turn: never) => T): T => {
    const batch = store.batch();
    const result = act({ nowUs, batch } as never);
    store.commit(batch);
    return result;
  };
  inTurn(1_000, turn => {
    for (let n = 0; n < 10; n++) idempotency.remember(keyOf(n), id, turn);
    expect(idempotency.answer(keyOf(3), turn)).toEqual({ kind: 'accepted', id });
  });
  expect(inTurn(rememberedUs, turn => idempotency.answer(keyOf(3), turn))).toEqual({ kind: 'accepted', id });
  const laterUs = 1_000 + rememberedUs;
  expect(inTurn(laterUs, turn => idempotency.answer(keyOf(3), turn))).toBeNull();
  // Used again before its first time was pruned: the new entry stays.
  inTurn(laterUs, turn => idempotency.remember(keyOf(3), id, turn));
  expect(inTurn(laterUs, turn => idempotency.prune(turn))).toBe(false);
  expect([store.count('idempotency'), store.count('idempotency_ends')]).toEqual([1, 1]);
  expect(inTurn(laterUs + 1, turn => idempotency.answer(keyOf(3), turn))).toEqual({ kind: 'accepted', id });
});
