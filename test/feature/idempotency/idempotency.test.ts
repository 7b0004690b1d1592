// The header Idempotency-Key on the two execution routes: one key, one job, the same answer.

import { expect, test } from 'vitest';
import { IdempotencyTable } from '../../../actors/job/idempotency.ts';
import { rememberedUs } from '../../../actors/remembered-keys.ts';
import { idempotencyKeyCharsMax } from '../../../http/idempotency.ts';
import { SetAside } from '../../../runtime/store/set-aside.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { type Gateway, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { echo, step, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { openMemoryStore } from '../../support/memory-store.ts';

const pipelines = [
  { name: 'now', on: 'now', execution_mode: 'synchronous', timeout_secs: 100, steps: [{ id: 'only', uses: 'worker' }] },
  { name: 'short', on: 'short', execution_mode: 'synchronous', timeout_secs: 1, steps: [{ uses: 'worker' }] },
  { name: 'later', on: 'later', steps: [{ id: 'only', uses: 'worker' }] },
];
const others = ['token-of-the-first', 'token-of-the-second'];
const tokens = [everythingToken, ...others].map(token => ({ token, scopes: ['*'] }));
const settings = { plugins: { echo, worker, step }, pipelines, api: { auth: { tokens } } };
const shared = shareGateway(settings);

/** Calls with an idempotency key. Each test has keys of its own. */
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
  for (const path of ['/plugin/echo/handle', '/pipeline/later?async=true']) {
    const first = await post(shared, path, `first again ${path}`, { a: 1, b: [2] });
    expect(first.status).toBe(202);
    await shared.settled(String(first.body['job_id']));
    const before = await jobs(shared);
    // The order of keys in an object says nothing.
    expect(await post(shared, path, `first again ${path}`, { b: [2], a: 1 })).toEqual(first);
    expect(await jobs(shared)).toBe(before);
  }
});

test('with another request the key is 422 idempotency_mismatch', async () => {
  await post(shared, '/plugin/echo/handle', 'mismatch', { a: 1 });
  for (const [path, payload] of [
    ['/plugin/echo/handle', { a: 2 }],
    ['/plugin/echo/handle', undefined],
    ['/plugin/echo/say', { a: 1 }],
    ['/plugin/worker/handle', { a: 1 }],
    ['/pipeline/later', { a: 1 }],
    ['/pipeline/now', { a: 1 }],
  ] as const) {
    const { status, body } = await post(shared, path, 'mismatch', payload);
    expect({ path, status, code: body['code'] }).toEqual({ path, status: 422, code: 'idempotency_mismatch' });
  }
  await post(shared, '/pipeline/later', 'mismatch, of a pipeline');
  expect((await post(shared, '/pipeline/later?async=true', 'mismatch, of a pipeline')).status).toBe(422);
  expect((await post(shared, '/plugin/echo/handle', 'mismatch, of a pipeline')).status).toBe(422);
});

test('keys belong to a token', async () => {
  const ids = [];
  for (const token of [...others, ...others]) {
    ids.push((await post(shared, '/plugin/echo/handle', 'token', { a: 1 }, token)).body['job_id']);
  }
  expect(ids.slice(2)).toEqual(ids.slice(0, 2));
  expect(ids[0]).not.toBe(ids[1]);
});

test('an answer of 4xx is not remembered', async () => {
  expect((await post(shared, '/plugin/echo/nothing', 'refused', {})).status).toBe(404);
  expect((await post(shared, '/plugin/echo/handle', 'refused', 'no object')).status).toBe(400);
  expect((await post(shared, '/plugin/echo/handle', 'refused', {})).status).toBe(202);
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
  for (const path of ['/plugin/worker/handle', '/pipeline/later', '/pipeline/now']) {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => post(shared, path, `at once ${path}`, { name: 'at once' })),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    await shared.settled(String(answers[0]!.body['job_id']));
  }
  expect(shared.journal().filter(({ what, name }) => what === 'start' && name === 'at once')).toHaveLength(3);
});

test('the second call after kill -9 gets the answer of the first', async () => {
  const paths = ['/plugin/worker/handle', '/pipeline/later'];
  const first = await Promise.all(paths.map(path => post(shared, path, `kill ${path}`, { gate: 'kill' })));
  await shared.restart();
  expect(await Promise.all(paths.map(path => post(shared, path, `kill ${path}`, { gate: 'kill' })))).toEqual(first);
  shared.open('kill');
  for (const { body } of first) await shared.settled(String(body['job_id']));
});

test('a synchronous call is waited for by all who repeat it', async () => {
  const first = post(shared, '/pipeline/now', 'wait', { gate: 'wait', name: 'wait' });
  await until('it runs', () => shared.journal().some(({ name }) => name === 'wait'));
  const second = post(shared, '/pipeline/now', 'wait', { gate: 'wait', name: 'wait' });
  shared.open('wait');
  expect(await first).toMatchObject({ status: 200, body: { status: 'succeeded' } });
  expect(await second).toEqual(await first);
  expect(await post(shared, '/pipeline/now', 'wait', { gate: 'wait', name: 'wait' })).toEqual(await first);
  await shared.restart();
  expect(await post(shared, '/pipeline/now', 'wait', { gate: 'wait', name: 'wait' })).toEqual(await first);
});

test('a synchronous call that was not finished in time is answered as it stands when it is repeated', async () => {
  const first = await post(shared, '/pipeline/short', 'late', { gate: 'late' });
  expect(first).toMatchObject({ status: 202, body: { timeout_exceeded: true } });
  shared.open('late');
  const id = String(first.body['job_id']);
  await shared.settled(id);
  const second = await post(shared, '/pipeline/short', 'late', { gate: 'late' });
  expect(second).toMatchObject({ status: 200, body: { job_id: id, status: 'succeeded' } });
});

test('a key has a length', async () => {
  const longest = 'k'.repeat(idempotencyKeyCharsMax);
  expect((await post(shared, '/plugin/echo/handle', longest, {})).status).toBe(202);
  for (const key of ['', `${longest}k`]) {
    const { status, body } = await post(shared, '/plugin/echo/handle', key, {});
    expect({ status, code: body['code'] }).toEqual({ status: 400, code: 'invalid_idempotency_key' });
  }
});

test('after 24 h a key is new again, and goes in small steps', () => {
  const store = openMemoryStore();
  const idempotency = new IdempotencyTable(store, new SetAside());
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
  // The key is used again before the sweep, which then keeps the new entry.
  inTurn(laterUs, turn => idempotency.remember(keyOf(3), id, turn));
  expect(inTurn(laterUs, turn => idempotency.keys.sweep(turn))).toBe(true);
  expect(store.count('idempotency')).toBe(1);
  expect(inTurn(laterUs, turn => idempotency.keys.sweep(turn))).toBe(false);
  expect(inTurn(laterUs + 1, turn => idempotency.answer(keyOf(3), turn))).toEqual({ kind: 'accepted', id });
});
