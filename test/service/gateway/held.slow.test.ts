// Held jobs as users see them: what a job waits for, the doctor, dry runs of reloads, kills during reloads, and sandboxes.
import { expect, test } from 'vitest';
import { startClocked } from './clock.ts';
import type { Settings } from './configuration.ts';
import { type Gateway, shareGateway, startGateway } from './gateway.ts';
import { echo, failing, worker } from './sources.ts';
import { until } from './until.ts';

const pipelines = [{ name: 'through', on: 'through', steps: [{ id: 'only', uses: 'worker' }] }];
const retry = { max_attempts: 3, backoff_base: '24h', backoff_max: '24h' };
const instances = { worker: { parallelism: 1 }, failing: { retry } };
const whole: Settings = { plugins: { echo, failing, worker }, instances, pipelines };
const without: Settings = { plugins: { echo } };

const code = 'export const handle = () => ({});';
const both = {
  plugins: { halved: { code: `${code} export const other = handle;`, commands: { handle: {}, other: {} } } },
};
/** Lacks the command `other`. */
const half = { plugins: { halved: { code, commands: { handle: {} } } } };

const gateway = shareGateway(whole);

async function waits(of: Gateway, id: string) {
  return (await of.call('GET', `/job/${id}`)).body['waits_for'] as Record<string, string> | undefined;
}

/** What the job waits for, once the service says so: an answer lacks the reason if the ledger is too busy. */
function told(of: Gateway, id: string, reason: string) {
  return until(`the job waits for ${reason}`, async () => {
    const found = await waits(of, id);
    return found?.['reason'] === reason ? found : null;
  });
}

async function check(name: string) {
  const { body } = await gateway.call('GET', '/system/doctor');
  return (body['checks'] as { name: string }[]).find(found => found.name === name);
}

test('a job says what it waits for: a worker, a retry, its children, its plugin', async () => {
  const run = await gateway.run('through', { gate: 'waits' });
  await gateway.noted('start');
  const [running] = (await gateway.tree(run)).slice(1);
  const queued = await gateway.submit('worker/handle', { gate: 'waits' });
  const retried = await gateway.submit('failing/handle', { times: 1 });
  await until('it has failed once', async () => (await gateway.job(retried)).last_error);

  expect(await waits(gateway, running!.job_id)).toBeUndefined();
  await told(gateway, run, 'children');
  const { detail, since } = await told(gateway, queued, 'worker');
  expect(detail).toBe('jobs of worker: 1 queued, 1 with workers, parallelism 1');
  expect(since).toBe((await gateway.job(queued)).created_at);
  const backoff = await told(gateway, retried, 'retry');
  expect(backoff).toMatchObject({ reason: 'retry', detail: 'attempt 2 of 3' });
  expect(Date.parse(backoff['until']!)).toBeGreaterThan(Date.parse(backoff['since']!));

  expect(await check('held_jobs')).toMatchObject({ passed: true, detail: 'none' });
  const trial = await gateway.call('POST', '/system/reload?dry_run=true');
  expect([trial.status, trial.body]).toEqual([200, { errors: [], warnings: [], held: [] }]);
  await gateway.reload(without);
  expect(await told(gateway, queued, 'plugin')).toMatchObject({
    detail: 'the configuration has no plugin "worker"',
  });
  await told(gateway, retried, 'plugin');
  const held = await check('held_jobs');
  expect(held).toMatchObject({ passed: false, detail: expect.stringContaining('1 job of worker.handle since 20') });
  expect((await gateway.call('GET', '/analytics/queue')).body).toMatchObject({ held_count: 1, delayed_count: 1 });

  await gateway.reload({ ...whole, pipelines: [], instances: { ...instances, worker: { enabled: false } } });
  expect(await told(gateway, queued, 'plugin')).toMatchObject({ detail: 'the plugin worker is disabled' });
  await gateway.reload(whole);
  gateway.open('waits');
  expect(await waits(gateway, queued)).not.toMatchObject({ reason: 'plugin' });
  for (const id of [run, queued]) expect((await gateway.settled(id)).status).toBe('succeeded');
  expect(await waits(gateway, queued)).toBeUndefined();
  expect(await check('held_jobs')).toMatchObject({ passed: true });
});

test('a reload says what it would hold, refuses it where it is asked to, and says what it holds', async () => {
  await gateway.reload(whole);
  const running = await gateway.submit('worker/handle', { gate: 'trial' });
  await gateway.noted('start', running);
  const queued = await Promise.all([1, 2].map(() => gateway.submit('worker/handle', { gate: 'trial' })));
  const before = JSON.stringify((await gateway.call('GET', '/config/view')).body);

  gateway.write(without);
  const { body } = await gateway.call('POST', '/system/reload?dry_run=true');
  const held = [
    { plugin: 'failing', command: 'handle', jobs: 1 },
    { plugin: 'worker', command: 'handle', jobs: 2 },
  ];
  expect((body['held'] as typeof held).toSorted((a, b) => (a.plugin < b.plugin ? -1 : 1))).toEqual(held);
  const refused = await gateway.call('POST', '/system/reload?hold=refuse');
  expect([refused.status, refused.body['code']]).toEqual([409, 'reload_would_hold']);
  expect(refused.body['detail']).toContain('2 jobs of worker.handle');
  expect(JSON.stringify((await gateway.call('GET', '/config/view')).body)).toBe(before);

  const reloaded = await gateway.call('POST', '/system/reload');
  expect(reloaded.body['message']).toContain('held now: ');
  expect(reloaded.body['message']).toContain('2 jobs of worker.handle');
  expect(
    gateway.log.some(({ msg }) => msg?.includes('2 of worker.handle') || msg?.includes('2 jobs of worker.handle')),
  ).toBe(true);
  // Jobs that are already held are no reason to refuse the next reload.
  expect((await gateway.call('POST', '/system/reload?hold=refuse')).status).toBe(200);
  gateway.open('trial');
  await gateway.reload(whole);
  for (const id of [running, ...queued]) expect(await gateway.settled(id)).toMatchObject({ attempt: 1 });
  gateway.write({ plugins: { echo }, pipelines });
  const wrong = await gateway.call('POST', '/system/reload?dry_run=true');
  expect([wrong.status, (wrong.body['errors'] as string[]).length]).toEqual([200, 1]);
});

test('a delayed job of a missing plugin is held once its time has come', async () => {
  await gateway.reload(whole);
  const { body } = await gateway.call('POST', '/plugin/worker/handle', { payload: {}, delay: '30d' });
  const job = String(body['job_id']);
  gateway.write(without);
  const refused = await gateway.call('POST', '/system/reload?hold=refuse');
  expect([refused.status, refused.body['detail']]).toEqual([409, expect.stringMatching(/1 (job )?of worker\.handle/)]);
  await gateway.reload(without);
  await told(gateway, job, 'run_at');
  expect(await check('held_jobs')).toMatchObject({ detail: expect.not.stringContaining('worker') });
  await gateway.call('POST', `/job/${job}/run-now`);
  await told(gateway, job, 'plugin');
  const detail = expect.stringContaining('1 job of worker.handle since 20');
  expect(await check('held_jobs')).toMatchObject({ passed: false, detail });
  await gateway.reload(whole);
  expect((await gateway.settled(job)).status).toBe('succeeded');
});

test('a pause does not end the hold of a missing command', async () => {
  await gateway.reload(both);
  await gateway.call('POST', '/control/plugin/halved/pause', {});
  const job = await gateway.submit('halved/other');
  await gateway.reload(half);
  await gateway.call('POST', '/control/plugin/halved/resume');
  const before = await told(gateway, job, 'plugin');
  expect(before['detail']).toBe('the plugin halved has no command "other"');
  for (const target of ['plugin/halved', 'system']) {
    await gateway.call('POST', `/control/${target}/pause`, {});
    await told(gateway, job, 'paused');
    expect(await check('held_jobs')).toMatchObject({ passed: false, detail: expect.stringContaining('halved.other') });
    // The job is held already, so it is no reason to refuse the reload.
    expect((await gateway.call('POST', '/system/reload?hold=refuse')).status).toBe(200);
    await gateway.call('POST', `/control/${target}/resume`);
    expect(await told(gateway, job, 'plugin')).toEqual(before);
  }
  await gateway.reload(both);
  expect((await gateway.settled(job)).status).toBe('succeeded');
});

test.each(['plugin/halved', 'system'])('a pause of %s does not prolong the hold of a missing command', async target => {
  const state = { retention: { held: '2s' } };
  const own = await startGateway({ ...both, state });
  await own.call('POST', `/control/${target}/pause`, {});
  const [present, missing] = [await own.submit('halved/handle'), await own.submit('halved/other')];
  await own.reload({ ...half, state });
  const lastError = expect.stringMatching(/^held since 20.* and never run: the plugin halved has no command "other"$/);
  expect(await own.settled(missing)).toMatchObject({ status: 'failed', attempt: 0, last_error: lastError });
  await told(own, present, 'paused');
  expect((await own.call('GET', '/analytics/queue')).body).toMatchObject({ held_count: 0, paused_count: 1 });
  expect((await own.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

test('a hold that began while the clock was ahead begins again once the clock is right', async () => {
  const state = { retention: { held: '2s' } };
  const { gateway: own, clock } = await startClocked('2099-06-01T02:00:00Z', { ...both, state });
  await own.call('POST', '/control/plugin/halved/pause', {});
  const job = await own.submit('halved/other');
  own.write({ ...half, state: { retention: { held: '1d' } } });
  expect((await own.call('POST', '/system/reload')).status).toBe(200);
  await own.kill9();
  clock.set('2099-06-01T00:00:00Z');
  own.write({ ...half, state });
  await own.start();
  expect(await own.settled(job)).toMatchObject({
    status: 'failed',
    last_error: expect.stringContaining('held since 2099-06-01T00:0'),
  });
});

test('an action that cancels the last held jobs of a plugin ends their hold', async () => {
  await gateway.reload(whole);
  const waiting = await gateway.submit('failing/handle', { times: 1 });
  await until('it has failed once', async () => (await gateway.job(waiting)).last_error);
  await gateway.reload(without);
  await told(gateway, waiting, 'plugin');
  const { body } = await gateway.call('POST', '/actions', { do: 'cancel', where: { plugin: 'failing' } });
  await gateway.settled(String(body['action_id']));
  expect(await gateway.job(waiting)).toMatchObject({ status: 'cancelled' });
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

test('kills while plugins go and come lose nothing and run nothing twice', async () => {
  const quickly = { max_attempts: 10, backoff_base: '1ms', backoff_max: '5ms' };
  const present: Settings = { plugins: { echo, worker }, instances: { worker: { retry: quickly } } };
  const ids: string[] = [];
  for (let cycle = 0; cycle < 2; cycle++) {
    gateway.write(present);
    await gateway.call('POST', '/system/reload');
    // A job that has run, but whose end a kill kept from being stored, runs again.
    for (const id of ids) await gateway.settled(id);
    const gate = { gate: `cycle-${cycle}` };
    ids.push(...(await Promise.all(Array.from({ length: 12 }, () => gateway.submit('worker/handle', gate)))));
    gateway.write(without);
    // In every other cycle, the kill comes at some moment of the reload.
    const reloading = gateway.call('POST', '/system/reload').catch(() => null);
    if (cycle % 2 === 0) await reloading;
    await gateway.restart();
    await reloading;
    expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
    for (const id of ids.slice(-12)) expect((await gateway.job(id)).status).toBe('queued');
    for (let open = 0; open <= cycle; open++) gateway.open(`cycle-${open}`);
  }
  gateway.write(present);
  await gateway.call('POST', '/system/reload');
  for (const id of ids) expect((await gateway.settled(id)).status).toBe('succeeded');
  const ended = gateway
    .journal()
    .filter(({ job, what }) => what === 'end' && ids.includes(job))
    .map(({ job }) => job);
  expect(ended.toSorted()).toEqual(ids.toSorted());
});

test('a plugin whose sandbox is unavailable holds its jobs', async () => {
  // Root lifts this limit, so the sandbox is unavailable.
  const program = {
    code: '#!/bin/sh\nread request\necho \'{"status":"ok"}\'\n',
    entrypoint: 'run.sh',
    runtime: 'process',
    commands: { handle: {} },
  };
  const caged = { sandbox: 'limits', limits: { processes: 100 } };
  await gateway.reload({ plugins: { program }, instances: { program: caged } });
  const job = await gateway.submit('program/handle');
  if (process.getuid?.() !== 0) {
    expect((await gateway.settled(job)).status).toBe('succeeded');
    return;
  }
  const said = await until('it was tried', async () => {
    const found = await waits(gateway, job);
    return found?.['detail']?.includes('is unavailable: ') ? found : null;
  });
  expect(said).toMatchObject({ reason: 'plugin' });
  expect((await gateway.job(job)).attempt).toBe(0);
  await gateway.reload({ plugins: { program } });
  expect(await gateway.settled(job)).toMatchObject({ status: 'succeeded', attempt: 1 });
});
