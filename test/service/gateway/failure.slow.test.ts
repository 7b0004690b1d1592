// Failures inside the service: no accepted job is lost, and nobody else notices.
import { execFileSync } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { attemptKey } from '../../../actors/job/records/attempts.ts';
import { blockOf, parseId } from '../../../runtime/ids.ts';
import { type Gateway, shareGateway, startGateway } from './gateway.ts';
import { failing, journal, worker } from './sources.ts';
import { tamper } from './tamper.ts';
import { until } from './until.ts';

/** Answers with `bytes` random bytes, `ms` after its gate was opened. */
const talker = `${journal}
import { randomBytes } from 'node:crypto';
export async function handle(request) {
  const { item } = request.event.payload;
  note(request, 'start');
  await gate('talk');
  await pause(item.ms);
  return { result: randomBytes(item.bytes).toString('latin1') };
}
`;

/** Corrupts its state updates while the host copies them, so that the ledger gets bytes that it cannot decode. */
const forger = `
const TypedArray = Object.getPrototypeOf(Uint8Array.prototype);
const { set } = TypedArray;
TypedArray.set = function (source, at = 0) {
  set.call(this, source, at);
  if (source[0] === 0x81 && source[1] === 0xa6 && source[2] === 0x66) this[at] = 0xc1;
};
export const handle = () => ({ result: null, state_updates: { forged: 'x'.repeat(5000) } });
`;

/** Makes spans that are no list, behind the back of the check of its answer. */
const spanForger = `
const { slice } = Array.prototype;
Array.prototype.slice = function (...bounds) {
  return this[0]?.dur_ns === undefined ? slice.apply(this, bounds) : 7;
};
export const handle = () => ({ result: null, spans: [{ name: 'a', dur_ns: 1 }] });
`;

/** Breaks its deflated result, which the ledger does not inflate. */
const deflateForger = `
import { syncBuiltinESMExports } from 'node:module';
import zlib from 'node:zlib';
const { deflateRawSync } = zlib;
zlib.deflateRawSync = (...given) => {
  const bytes = deflateRawSync(...given);
  bytes[0] = 0xff;
  return bytes;
};
syncBuiltinESMExports();
export const handle = () => ({ result: { text: 'so much '.repeat(20_000) } });
`;

/** Logs a word. */
const logger = `
export const handle = ({ event }, { log }) => {
  log('info', event.payload.word);
  return { result: null };
};
`;

/** Has the main thread throw an error at SIGUSR2. */
const thrower = 'process.on("SIGUSR2", () => { throw new Error("a bug"); });';
const shared = shareGateway(
  {
    plugins: { talker, forger, worker },
    instances: { forger: { retry: { max_attempts: 2, backoff_base: '1ms' } } },
    service: { max_workers: 6 },
    pipelines: [{ name: 'talk', on: 'talk', steps: [{ uses: 'talker', foreach: 'payload.list' }] }],
  },
  { environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(thrower)}` }, grace: '60s' },
);

/** Limits the size of files that the service may write; null removes the limit. */
function limitFiles(gateway: Gateway, bytes: number | null): void {
  execFileSync('prlimit', ['--pid', String(gateway.pid), `--fsize=${bytes ?? 'unlimited'}:`]);
}

async function findings(gateway: Gateway): Promise<unknown> {
  const { body } = await gateway.call('GET', '/system/selfcheck');
  return body['failures'];
}

test('after a write that failed nothing more is committed, the service ends with 74, and the next start has all jobs', async () => {
  const list = Array.from({ length: 6 }, (_, k) => ({ ms: 4 * k, bytes: k === 0 ? 3_000_000 : 10 }));
  const run = await shared.run('talk', { list });
  await shared.noted('start', list.length);
  limitFiles(shared, statSync(join(shared.directory, 'data', 'data.mdb')).size);
  shared.open('talk');
  expect(await shared.ended).toEqual({ status: 74, signal: null });
  expect(shared.stderr).toContain('the ledger cannot be written');
  await shared.start();
  expect(await shared.settled(run)).toMatchObject({ status: 'succeeded' });
  expect(await findings(shared)).toEqual([]);
});

test('an outcome that cannot be read is the death of its host, charged to its job, and no failed turn', async () => {
  const forged = await shared.submit('forger/handle');
  const other = await shared.submit('worker/handle', { name: 'other' });
  expect(await shared.settled(forged)).toMatchObject({
    status: 'dead',
    attempt: 2,
    last_error: expect.stringMatching(
      /sent the service an invalid message: RangeError: state_updates is not one packed value/,
    ),
  });
  expect(await shared.settled(other)).toMatchObject({ status: 'succeeded' });
  expect(shared.log.filter(({ msg }) => msg === 'a turn failed')).toEqual([]);
});

test('records that cannot be decoded are set aside at a start: the service starts, says which, and all else goes on', async () => {
  const steps = [{ uses: 'worker', foreach: 'payload.list', with: { gate: '{payload.item.gate}' } }];
  const schedule = { plugin: 'worker', at: '2999-01-01T00:00:00Z' };
  const settings = {
    plugins: { worker, failing },
    instances: { failing: { retry: { max_attempts: 5, backoff_base: '1h' } } },
    pipelines: [{ name: 'held', on: 'held', steps }],
    schedules: ['stays', 'leaves'].map(id => ({ id, ...schedule })),
    service: { max_workers: 4 },
  };
  const gateway = await startGateway(settings);
  const { body: acted } = await gateway.call('POST', '/actions', { do: 'cancel', where: { plugin: 'nobody' } });
  const action = String(acted['action_id']);
  await gateway.settled(action);
  await gateway.run('held', { list: [{ gate: 'all' }] });
  await gateway.noted('start', 1);
  const good = await gateway.submit('worker/handle', { gate: 'all' });
  await gateway.noted('start', 2);
  const bad = await gateway.submit('worker/handle', { gate: 'all' });
  await gateway.noted('start', 3);
  const retried = await gateway.submit('failing/handle', { times: 1 });
  await until('it has failed once', async () => (await gateway.job(retried)).last_error);
  await gateway.kill9();
  const keys = { open: parseId(bad)!.subarray(0, 12), retries: parseId(retried)!, actions: parseId(action)! };
  const broken = Buffer.of(0x91);
  gateway.write({ ...settings, schedules: [{ id: 'stays', ...schedule }] });
  tamper(gateway, (batch, reader) => {
    batch.put('open', keys.open, broken);
    batch.put('retries', keys.retries, broken);
    batch.put('actions', keys.actions, broken);
    for (const { key } of reader.scan('schedules', {})) batch.put('schedules', Buffer.from(key), broken);
    for (const table of ['runs', 'definitions', 'counters'] as const)
      for (const { key } of reader.scan(table, { limit: 1 })) batch.put(table, Buffer.from(key), broken);
  });
  await gateway.start();
  gateway.open('all');
  expect(await gateway.settled(good)).toMatchObject({ status: 'succeeded' });
  expect(await gateway.settled(retried)).toMatchObject({ status: 'succeeded', attempt: 2 });
  expect(await gateway.finished('worker/handle')).toMatchObject({ status: 'succeeded' });
  expect(await gateway.job(bad)).toMatchObject({ status: 'queued' });
  const where = { status: 'queued' };
  expect(await gateway.call('GET', '/jobs?status=queued')).toMatchObject({ status: 200 });
  expect(await gateway.call('POST', '/actions', { do: 'cancel', where, dry_run: true })).toMatchObject({ status: 200 });
  for (const path of [`/action/${action}`, '/actions', '/schedules', '/schedule/stays'])
    expect([path, (await gateway.call('GET', path)).status]).toEqual([path, 200]);
  expect((await gateway.call('GET', '/schedule/leaves')).status).toBe(404);
  const said = gateway.log.filter(({ msg }) => msg === 'a record cannot be used: it is set aside');
  const tables = ['actions', 'counters', 'definitions', 'open', 'retries', 'runs', 'schedules'];
  expect([...new Set(said.map(line => String(line['table'])))].sort()).toEqual(tables);
  const { body } = await gateway.call('GET', '/system/doctor');
  const checks = body['checks'] as readonly {
    readonly name: string;
    readonly passed: boolean;
    readonly detail: string;
  }[];
  const found = checks.find(({ name }) => name === 'records')!;
  expect(found).toMatchObject({
    passed: false,
    detail: expect.stringContaining(`actions ${Buffer.from(keys.actions).toString('hex')}`),
  });
  const faults = (await findings(gateway)) as { readonly invariant: string; readonly detail: string }[];
  const unread = faults.filter(({ invariant }) => invariant === 'records_can_be_read').map(({ detail }) => detail);
  expect(unread).toContainEqual(
    expect.stringContaining(`open ${Buffer.from(keys.open).toString('hex')} cannot be read`),
  );
  expect(unread).toContainEqual(expect.stringContaining('definitions'));
});

test('lists, actions and the index go on without a block or an attempt that cannot be decoded', async () => {
  const gateway = await startGateway({ plugins: { failing } });
  const fail = async () => (await gateway.finished('failing/handle', { retry: false })).job_id;
  const blockless = await fail();
  const attemptless = await fail();
  const good = await fail();
  await gateway.term();
  tamper(gateway, batch => {
    batch.put('blocks', blockOf(parseId(blockless)!), Buffer.of(0x93));
    batch.put('attempts', attemptKey(parseId(attemptless)!, 1), Buffer.of(0x93));
  });
  rmSync(join(gateway.directory, 'data/search'), { recursive: true });
  await gateway.start();
  const listed = async (path: string, name: string) => {
    const { status, body } = await gateway.call('GET', path);
    expect([path, status]).toEqual([path, 200]);
    return (body[name] as readonly { readonly job_id: string }[]).map(row => row.job_id);
  };
  expect(await listed('/jobs', 'jobs')).toEqual([good, attemptless]);
  expect(await listed('/jobs?plugin=failing', 'jobs')).toEqual([good, attemptless]);
  expect(await listed('/jobs?status=failed', 'jobs')).toEqual([good]);
  expect(await listed('/job-logs', 'logs')).toEqual([good, blockless]);
  await until('the index has them', async () => {
    const { body } = await gateway.call('GET', '/failures');
    return (body['failures'] as readonly { readonly count: number }[])[0]?.count === 2;
  });
  expect(await listed('/job-logs?query=asked', 'logs')).toEqual([good, blockless]);
  const where = { status: 'failed' };
  const { body: counted } = await gateway.call('POST', '/actions', { do: 'rerun', where, dry_run: true });
  expect(counted).toMatchObject({ matched: 1 });
  const every = { do: 'rerun', where: { plugin: 'failing' } };
  const { body: acted } = await gateway.call('POST', '/actions', every);
  expect(await gateway.settled(String(acted['action_id']))).toMatchObject({ status: 'succeeded' });
});

test('the index and searches go on beside an outcome whose parts are forged', async () => {
  const once = { retry: { max_attempts: 1 } };
  const gateway = await startGateway({
    plugins: { spanForger, deflateForger, logger },
    instances: { spanForger: once, deflateForger: once },
  });
  const spans = await gateway.finished('spanForger/handle');
  expect(spans).toMatchObject({
    status: 'failed',
    last_error: expect.stringContaining('spans is not a list of spans'),
  });
  await gateway.submit('deflateForger/handle');
  await until('the forged result is stored', async () => {
    const { body } = await gateway.call('GET', '/jobs?status=succeeded');
    return body['total'] === 1;
  });
  const { job_id } = await gateway.finished('logger/handle', { word: 'marmalade' });
  const search = () => gateway.call('GET', '/job-logs?query=marmalade');
  const found = { status: 200, body: { logs: [{ job_id }], total: 1 } };
  expect(await search()).toMatchObject(found);
  await until('the index has the logs', async () => {
    const { body } = await gateway.call('GET', '/metrics');
    return /^headgate_job_total_seconds_count{plugin="logger".*} 1$/m.test(String(body['text']));
  });
  expect(await search()).toMatchObject(found);
  expect(await gateway.call('GET', `/job-logs?job_id=${job_id}&query=marmalade`)).toMatchObject(found);
  const where = { query: 'marmalade' };
  const { body: counted } = await gateway.call('POST', '/actions', { do: 'rerun', where, dry_run: true });
  expect(counted).toMatchObject({ matched: 1 });
  const { body: doctor } = await gateway.call('GET', '/system/doctor');
  expect(doctor['checks']).toContainEqual(expect.objectContaining({ name: 'search_index', passed: true }));
  const { body: metrics } = await gateway.call('GET', '/metrics');
  expect(metrics['text']).toContain('headgate_up{part="indexer"} 1');
});

test('a defect of the main thread ends the service in good order', async () => {
  const held = await shared.submit('worker/handle', { gate: 'defect' });
  await shared.noted('start', held);
  shared.signal('SIGUSR2');
  await until('the part that died is named', () => shared.log.find(({ part }) => part === 'http'));
  shared.open('defect');
  expect(await shared.ended).toEqual({ status: 70, signal: null });
  await shared.start();
  expect(await shared.job(held)).toMatchObject({ status: 'succeeded', attempt: 1 });
});
