// Makes the fixture of the format that this version writes, when HEADGATE_WRITE_FIXTURE=1 is set.
//
// Run it when something was added to the format, before the format gets a new number: name what is new in `shows` and in the list of
// fixtures, and commit the files that it writes.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openReaderBeside } from '../../../runtime/store/ledger-store.ts';
import { VaultGateway } from '../../feature/vault/service.ts';
import { send, signed } from '../../feature/webhooks/sender.ts';
import type { Settings } from '../gateway/configuration.ts';
import { Gateway } from '../gateway/gateway.ts';
import { echo, failing, journal, worker } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';
import { keepFixture } from './fixture.ts';

const day = '24h';
const shows = 'times';
/** Runs of the batch: more than begin before the kill. */
const batchedRuns = 640;
/** Jobs of the action that is on its way. */
const actedJobs = 12;

const settings: Settings = {
  plugins: {
    echo,
    worker,
    failing,
    // Its state grows by one a job, and its result says that it was given the secret, which it does not show.
    keeper:
      'export const handle = ({ state, secrets }) => ({ state_updates: { jobs: (state.jobs ?? 0) + 1 }, result: { jobs: (state.jobs ?? 0) + 1, secret: secrets?.door !== undefined } });',
    leaving: worker,
    emitter: "export const handle = (_, { emit }) => emit({ type: 'seen', payload: { a: 1 }, dedupe_key: 'once' });",
    teller: "export const handle = (_, { emit }) => emit({ type: 'told', payload: {} });",
    // A cancel takes 5 s to end it.
    deaf: {
      code: "#!/bin/sh\ntrap '' TERM\nsleep 60\n",
      entrypoint: 'main.sh',
      runtime: 'process',
      commands: { run: {} },
    },
    // Two elements with the same key emit the same event; the second one is dropped.
    crier:
      "export const handle = ({ event: { payload: { item } } }, { emit }) => emit({ type: 'cried', payload: item, dedupe_key: item.key });",
    mending: `${journal}
      export async function handle({ event: { payload } }) {
        if (payload.sick && !existsSync(home + '/gate-mended')) return { status: 'error', error: 'sick', retry: false };
        if (payload.gate) await gate(payload.gate);
        return { result: payload };
      }`,
    adding: 'export const handle = ({ event }) => ({ result: { succeeded: event.payload.succeeded } });',
  },
  instances: {
    single: { uses: 'worker', parallelism: 1 },
    failing: { retry: { max_attempts: 3, backoff_base: day, backoff_max: day } },
    hopeless: { uses: 'failing', retry: { max_attempts: 1 } },
    resting: { uses: 'worker' },
    slow: { uses: 'worker' },
  },
  pipelines: [
    { name: 'on-seen', on: 'seen', steps: [{ id: 'see', uses: 'echo' }] },
    { name: 'telling', on: 'telling', steps: [{ uses: 'teller' }, { uses: 'deaf.run' }] },
    { name: 'hearing', on: 'told', steps: [{ uses: 'deaf.run' }] },
    {
      name: 'patchy',
      steps: [
        { id: 'cry', uses: 'crier', foreach: 'payload.list' },
        { id: 'mend', uses: 'mending', on_error: 'continue' },
        { id: 'all', uses: 'echo', join: 'all' },
      ],
    },
    {
      name: 'fan',
      on: 'fan',
      steps: [
        { id: 'each', uses: 'worker', foreach: 'payload.list', with: { gate: '{payload.gate}' } },
        { id: 'sum', uses: 'adding', join: 'all' },
      ],
    },
    {
      name: 'outer',
      description: 'Fans out, and echoes the sum.',
      input_schema: { list: 'array', gate: 'string' },
      on: 'outer',
      steps: [
        { id: 'inner', call: 'fan' },
        { id: 'last', uses: 'echo' },
      ],
    },
    { name: 'batched', steps: [{ id: 'only', uses: 'echo' }] },
    {
      name: 'ending',
      deadline: '3650d',
      phase_timeout: '3650d',
      steps: [
        {
          id: 'work',
          uses: 'mending',
          foreach: 'payload.list',
          fail_fast: false,
          with: { sick: '{payload.item}' },
          retry: { max_attempts: 1 },
          timeout: '1h',
        },
        { id: 'rest', uses: 'resting' },
        { id: 'all', uses: 'adding', join: 'all' },
      ],
      on_failure: [{ id: 'tell', uses: 'resting' }],
      finally: [{ id: 'clean', uses: 'resting' }],
    },
    {
      name: 'told',
      on_hook: 'pipeline.completed',
      if: { path: 'payload.pipeline', op: 'eq', value: 'outer' },
      steps: [{ uses: 'echo' }],
    },
  ],
  schedules: [
    { id: 'fires', plugin: 'echo', every: '1s', if_running: 'allow', tags: { by: 'schedule' } },
    // The first job waits for the end of a pause, and the next occurrences wait for that job.
    { id: 'queues', plugin: 'resting', every: '1s', if_running: 'queue', catch_up: 'skip' },
    { id: 'nightly', pipeline: 'batched', cron: '30 2 * * *', timezone: 'Europe/Berlin' },
    { id: 'leaves', plugin: 'echo', every: '1s', if_running: 'allow', catch_up: 'skip' },
  ],
  // The fixture is to be opened years later.
  state: { retention: { jobs: '36500d' } },
  webhooks: {
    endpoints: [
      {
        name: 'once',
        path: '/webhook/once',
        plugin: 'echo',
        secret_ref: 'plain',
        signature_header: 'X-Signature',
        id_header: 'X-Delivery',
      },
      {
        name: 'named',
        path: '/webhook/named',
        plugin: 'single',
        secret_ref: 'plain',
        signature_header: 'X-Signature',
        headers: ['X-Kind'],
        event: 'kind.{headers.X-Kind}',
      },
    ],
  },
  tokens: [{ name: 'plain', key: 'a-key-of-the-plain-endpoint' }],
};

test.runIf(process.env['HEADGATE_WRITE_FIXTURE'])('a state with a little of everything', async () => {
  const gateway = new Gateway(settings);
  const vault = new VaultGateway(gateway);
  const ids: Record<string, string> = {};
  await gateway.start();

  await vault.do('principal', { name: 'keeper', kind: 'plugin' });
  await vault.do('secret', {
    name: 'door',
    value: 'a-value-that-only-the-keeper-gets',
    authorized_principals: ['keeper'],
  });
  await vault.do('secret', { name: 'old', value: 'a-value-that-nobody-gets-any-more', authorized_principals: [] });
  await vault.do('secret/revoke', { name: 'old' });
  ids['settled'] = (await gateway.finished('keeper/handle')).job_id;
  ids['failed'] = (await gateway.finished('hopeless/handle', { retry: false })).job_id;
  ids['emitted'] = (await gateway.finished('emitter/handle')).job_id;
  ids['fanned'] = (await gateway.ran('fan', { list: [1, 2, 3], gate: '' })).job_id;
  ids['large'] = (await gateway.finished('echo/handle', { text: 'large '.repeat(2_000) })).job_id;

  const body = '{"a":1}';
  const delivered = await send(gateway, '/webhook/once', body, { 'X-Delivery': 'kept', ...signed(body) });
  ids['delivered'] = String(delivered.body['job_id']);
  const headers = { 'Idempotency-Key': 'kept' };
  const { body: known } = await gateway.call('POST', '/plugin/echo/handle', { payload: {} }, { headers });
  ids['idempotent'] = String(known['job_id']);
  for (const name of ['delivered', 'idempotent']) await gateway.settled(ids[name]!);

  ids['retried'] = await gateway.submit('failing/handle', { times: 1 });
  await until('its first attempt has failed', async () => (await gateway.job(ids['retried']!)).last_error);
  for (const verb of ['pause', 'resume']) await gateway.call('POST', `/control/plugin/echo/${verb}`, {});
  await gateway.call('POST', '/control/plugin/resting/pause', { reason: 'kept' });
  ids['paused'] = await gateway.submit('resting/handle', {});
  ids['cancelled'] = await gateway.submit('resting/handle', {});
  const cancel = (id: string, detached = false) =>
    gateway.call('POST', `/job/${id}/cancel`, { reason: 'kept', detached });
  await cancel(ids['cancelled']);
  ids['stopping'] = await gateway.submit('deaf/run', {});
  ids['telling'] = await gateway.run('telling', {});
  const running = async () => {
    const { body } = await gateway.call('GET', '/jobs?plugin=deaf&status=running');
    return (body['jobs'] as object[]).length;
  };
  await until('the deaf programs run', async () => (await running()) === 2);
  ids['hearing'] = (await gateway.tree(ids['telling'])).find(({ command }) => command === 'hearing')!.job_id;
  const rerun = await gateway.call('POST', `/job/${ids['failed']}/rerun`, { reason: 'kept' });
  ids['rerun'] = String(rerun.body['job_id']);
  await gateway.settled(ids['rerun']);

  // One run waits in its steps, with a failure; one in on_failure; one in finally, after a cancel.
  const waitingAt = async (id: string, step: string) =>
    until(`a job of ${step} waits`, async () => {
      const jobs = (await gateway.tree(ids[id]!)).filter(({ plugin }) => plugin === 'resting');
      const shown = await Promise.all(jobs.map(({ job_id }) => gateway.call('GET', `/job/${job_id}`)));
      return shown.some(({ body }) => body['step_id'] === step && body['status'] === 'queued');
    });
  for (const [id, list] of [
    ['failing-late', [true, false]],
    ['in-on_failure', [true]],
    ['in-finally', [false]],
  ] as const)
    ids[id] = await gateway.run('ending', { list });
  await waitingAt('failing-late', 'rest');
  await waitingAt('in-on_failure', 'tell');
  await waitingAt('in-finally', 'rest');
  await cancel(ids['in-finally']!);
  await waitingAt('in-finally', 'clean');

  const patchy = async (...list: object[]) => (await gateway.ran('patchy', { list })).job_id;
  const fromFailed = async (id: string) =>
    String((await gateway.call('POST', `/job/${id}/rerun`, { from: 'failed' })).body['job_id']);
  ids['patched'] = await patchy({ key: 'a', sick: true }, { key: 'a', sick: true }, { key: 'b' });
  const late = await patchy({ key: 'c', sick: true, gate: 'later' }, { key: 'd' });
  gateway.open('mended');
  ids['mended'] = await fromFailed(ids['patched']);
  await gateway.settled(ids['mended']);

  ids['running'] = await gateway.submit('single/handle', { gate: 'later' });
  await gateway.noted('start', ids['running']);
  for (let n = 0; n < 5; n++) ids[`queued-${n}`] = await gateway.submit('single/handle', { gate: 'later', n });
  const waiting = '{"gate":"later"}';
  const named = await send(gateway, '/webhook/named', waiting, { 'X-Kind': 'kept', ...signed(waiting) });
  ids['named'] = String(named.body['job_id']);
  ids['fan'] = await gateway.run('fan', { list: [1, 2, 3, 4, 5, 6], gate: 'later' });
  ids['outer'] = await gateway.run('outer', { list: [1, 2, 3], gate: 'later' });
  const children = async (id: string) => (await gateway.tree(id)).filter(({ plugin }) => plugin === 'worker');
  await until(
    'both fan out',
    async () => (await children(ids['fan']!)).length + (await children(ids['outer']!)).length === 9,
  );
  const statuses = async () => (await children(ids['fan']!)).map(({ status }) => status);
  await until('one of them runs', async () => (await statuses()).includes('running'));
  ids['mending'] = await fromFailed(late);
  await until('it has reused what succeeded', async () => (await gateway.tree(ids['mending']!)).length === 5);

  const later = async (path: string, body: object) => String((await gateway.call('POST', path, body)).body['job_id']);
  ids['delayed'] = await later('/plugin/echo/handle', {
    payload: { n: 1 },
    delay: '3650d',
    expires: '1d',
    deadline: '1d',
  });
  ids['moved'] = await later('/plugin/echo/handle', { payload: { n: 2 }, delay: '3650d' });
  await gateway.call('POST', `/job/${ids['moved']}/reschedule`, { delay: '3000d' });
  ids['delayed-run'] = await later('/pipeline/fan', { payload: { list: [1, 2], gate: '' }, delay: '3650d' });

  // Both threads are occupied, so this job stays queued.
  ids['held'] = await gateway.submit('leaving/handle', {});
  const { leaving: _, ...staying } = settings.plugins!;
  const scheduled = await schedulesFire(gateway);
  Object.assign(ids, scheduled);
  const schedules = settings.schedules!.filter(({ id }) => id !== 'leaves');
  await gateway.reload({ ...settings, plugins: staying, schedules });
  await until('a job is held', async () => {
    const { body } = await gateway.call('GET', `/job/${ids['held']}`);
    return (body['waits_for'] as { reason: string } | undefined)?.reason === 'plugin';
  });
  const now = { before: new Date().toISOString() };
  expect(await vault.do('audit/prune', now)).toMatchObject({ status: 'pruned', more: false });
  expect((await cancel(ids['stopping'])).status).toBe(202);
  expect([200, 202]).toContain((await cancel(ids['telling'], true)).status);
  const act = async (body: object) => {
    const { body: started } = await gateway.call('POST', '/actions', { reason: 'kept', ...body });
    return String(started['action_id']);
  };
  const doneOf = async (id: string) => Number((await gateway.call('GET', `/action/${id}`)).body['done']);
  ids['acted'] = await act({ do: 'rerun', where: { job_id: ids['failed'] }, from: 'failed' });
  await until('the rerun is done', async () => (await doneOf(ids['acted']!)) === 1);
  await gateway.call('POST', '/control/plugin/slow/pause', {});
  for (let n = 0; n < actedJobs; n++) await gateway.submit('slow/handle');
  ids['stopped'] = await act({ do: 'run_now', where: { plugin: 'slow' }, per_second: 1 });
  await cancel(ids['stopped']);
  // At this rate, the kill comes before the action has ended.
  ids['acting'] = await act({ do: 'cancel', where: { plugin: 'slow' }, per_second: 5 });
  await until('it has begun', async () => (await doneOf(ids['acting']!)) > 0);
  const payloads = Array.from({ length: batchedRuns }, (_, n) => ({ n }));
  const batch = await gateway.call('POST', '/pipeline/batched/batch', { payloads, tags: { kind: 'kept' } });
  await gateway.kill9();
  ids['batched'] = (batch.body['job_ids'] as string[]).at(-1)!;
  const format = keepFixture(gateway, shows, {
    settings,
    ids,
    adminToken: vault.adminToken,
    secret: 'a-value-that-only-the-keeper-gets',
  });
  expect(format).toBeGreaterThan(0);
  // Reading the state recovers it, so this comes after the fixture is stored.
  expect(waitingRuns(gateway)).toBeGreaterThan(0);
  await gateway.discard();
});

type Schedule = { readonly queued: number; readonly history: readonly { readonly job_id?: string }[] };

/** Waits until each schedule has a history, and pauses those that fire each second. Returns the jobs of some firings. */
async function schedulesFire(gateway: Gateway): Promise<{ readonly [name: string]: string }> {
  const order = (id: string, what: string, body: object) => gateway.call('POST', `/schedule/${id}/${what}`, body);
  const show = async (id: string) => (await gateway.call('GET', `/schedule/${id}`)).body as unknown as Schedule;
  for (const id of ['fires', 'leaves']) await until(`${id} has fired`, async () => (await show(id)).history.length > 1);
  await order('fires', 'pause', { reason: 'kept' });
  await until('some wait', async () => (await show('queues')).queued > 1);
  const days = { from: '2026-01-01T12:00:00Z', to: '2026-01-04T12:00:00Z' };
  const { body } = await order('nightly', 'backfill', days);
  await gateway.settled(String(body['action_id']));
  const fired = (await show('fires')).history.at(-1)!.job_id!;
  await gateway.settled(fired);
  return { fired, scheduled: (await show('queues')).history.at(-1)!.job_id! };
}

/** Blocks of runs that were accepted and have not begun. */
function waitingRuns(gateway: Gateway): number {
  const reader = openReaderBeside(join(gateway.directory, 'data'));
  const count = reader.count('accepted_runs');
  reader.close();
  return count;
}
