// Pauses as users see them: nothing new starts, calls are accepted and wait, and pauses last over restarts and reloads.
import { expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { openSource } from '../../feature/events/reader.ts';
import { everythingToken, type Settings } from './configuration.ts';
import { type Answer, type Gateway, shareGateway } from './gateway.ts';
import { echo, failing, worker } from './sources.ts';
import { until } from './until.ts';

const scoped = [
  { name: 'test', token: everythingToken, scopes: ['*'] },
  { name: 'looker', token: 'a-token-that-looks', scopes: ['control:ro', 'jobs:rw', 'plugin:rw', 'system:rw'] },
  { name: 'ops', token: 'a-token-for-control', scopes: ['control:rw'] },
];
const pipelines = [
  {
    name: 'two',
    steps: [
      { id: 'first', uses: 'worker' },
      { id: 'second', uses: 'echo' },
    ],
  },
  { name: 'caller', steps: [{ id: 'inside', call: 'two' }] },
];
const retry = { max_attempts: 3, backoff_base: '1ms', backoff_max: '1ms' };
const settings: Settings = {
  plugins: { echo, failing, worker },
  instances: {
    failing: { retry },
    brittle: { uses: 'failing', retry: { max_attempts: 1 }, breaker: { failures: 2, of: 3, for: '1s' } },
    patient: { uses: 'failing', retry: { max_attempts: 3, backoff_base: '24h', backoff_max: '24h' } },
    mail: { uses: 'echo' },
    letters: { uses: 'mail' },
    other: { uses: 'worker' },
  },
  pipelines,
  api: { auth: { tokens: scoped } },
};
const gateway = shareGateway(settings);
const ops = { token: 'a-token-for-control' };

function control(path: string, body: object = {}, of: Gateway = gateway): Promise<Answer> {
  return of.call('POST', `/control/${path}`, body, ops);
}

async function pause(path: string, body: object = {}): Promise<Answer['body']> {
  onTestFinished(async () => {
    await control(`${path}/resume`, 'command' in body ? { command: body.command } : {});
  });
  const { status, body: said } = await control(`${path}/pause`, body);
  expect(status, JSON.stringify(said)).toBe(200);
  return said;
}

async function resume(path: string, body: object = {}): Promise<boolean> {
  const { status, body: said } = await control(`${path}/resume`, body);
  expect(status, JSON.stringify(said)).toBe(200);
  return said['resumed'] === true;
}

async function pauses(): Promise<readonly Record<string, unknown>[]> {
  return (await gateway.call('GET', '/pauses', undefined, ops)).body['pauses'] as Record<string, unknown>[];
}

async function waitsFor(id: string, reason: string) {
  return (await gateway.waiting(id, reason))['waits_for'] as Record<string, string>;
}

async function counts(): Promise<Record<string, unknown>> {
  return (await gateway.call('GET', '/analytics/queue')).body;
}

test('a paused plugin starts nothing new, keeps accepting, and goes on when it is resumed', async () => {
  const running = await gateway.submit('worker/handle', { gate: 'plugin' });
  await gateway.noted('start', running);
  const said = await pause('plugin/worker', { reason: 'provider down' });
  expect(said).toEqual({
    target: { kind: 'plugin', name: 'worker' },
    reason: 'provider down',
    by: 'api:ops',
    since: expect.stringMatching(/^20/),
  });
  const held = await gateway.submit('worker/handle');
  // The instance `other`, which builds on the paused one, is paused with it; others go on.
  const built = await gateway.submit('other/handle');
  expect(await waitsFor(held, 'paused')).toEqual({
    reason: 'paused',
    detail: 'the plugin worker is paused by api:ops: provider down',
    since: (await gateway.job(held)).created_at,
  });
  await waitsFor(built, 'paused');
  expect((await gateway.finished('echo/say', { n: 1 })).status).toBe('succeeded');
  // The job that was running ends.
  gateway.open('plugin');
  expect((await gateway.settled(running)).status).toBe('succeeded');
  expect(await counts()).toMatchObject({ queue_depth: 0, paused_count: 2, held_count: 0, waiting_count: 2 });
  expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ queue_depth: 0 });
  expect(await resume('plugin/worker')).toBe(true);
  for (const id of [held, built]) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(await resume('plugin/worker')).toBe(false);
  expect(await counts()).toMatchObject({ paused_count: 0, waiting_count: 0 });
});

test('a pause of one command leaves the others alone', async () => {
  await pause('plugin/echo', { command: 'say' });
  const waiting = await gateway.submit('echo/say');
  const built = await gateway.submit('letters/say');
  expect(await waitsFor(waiting, 'paused')).toMatchObject({ detail: 'the command echo.say is paused by api:ops' });
  await waitsFor(built, 'paused');
  expect((await gateway.finished('echo/handle')).status).toBe('succeeded');
  // A pause of the plugin is separate from that of its command, and each has to be resumed.
  await pause('plugin/echo');
  expect((await control('plugin/echo/resume', { command: '' })).status).toBe(400);
  expect(await resume('plugin/echo', { command: 'say' })).toBe(true);
  await waitsFor(waiting, 'paused');
  expect(await resume('plugin/echo')).toBe(true);
  for (const id of [waiting, built]) expect((await gateway.settled(id)).status).toBe('succeeded');
});

test('a paused pipeline accepts runs and holds each at its next step', async () => {
  const run = await gateway.run('two', { gate: 'pipeline' });
  await gateway.noted('start', (await gateway.tree(run))[1]!.job_id);
  const { since } = await pause('pipeline/two', { reason: 'wrong list' });
  const fresh = await gateway.run('two');
  const outer = await gateway.run('caller');
  const detail = 'the pipeline two is paused by api:ops: wrong list; its runs begin no new step';
  expect(await waitsFor(run, 'paused')).toEqual({ reason: 'paused', detail, since });
  gateway.open('pipeline');
  const first = (await gateway.tree(run))[1]!;
  expect((await gateway.settled(first.job_id)).status).toBe('succeeded');
  await waitsFor(outer, 'children');
  expect((await gateway.tree(fresh)).length).toBe(1);
  expect((await gateway.tree(run)).length).toBe(2);
  await gateway.restart();
  await waitsFor(fresh, 'paused');
  expect([(await gateway.tree(fresh)).length, (await gateway.tree(run)).length]).toEqual([1, 2]);
  // A pause of a pipeline does not affect direct calls of the plugin that it uses.
  expect((await gateway.finished('echo/say')).status).toBe('succeeded');
  await resume('pipeline/two');
  for (const id of [run, fresh, outer]) expect((await gateway.settled(id)).status).toBe('succeeded');
  expect((await gateway.tree(run)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
});

test('a paused service runs no job; every pause has to end before a job starts', async () => {
  await pause('system', { reason: 'upgrade' });
  await pause('plugin/echo');
  const id = await gateway.submit('echo/say');
  const run = await gateway.run('two');
  await resume('system');
  expect(await waitsFor(id, 'paused')).toMatchObject({ detail: 'the plugin echo is paused by api:ops' });
  await pause('system', { reason: 'upgrade' });
  await resume('plugin/echo');
  expect(await waitsFor(id, 'paused')).toMatchObject({ detail: 'the service is paused by api:ops: upgrade' });
  await waitsFor(run, 'paused');
  await resume('system');
  for (const each of [id, run]) expect((await gateway.settled(each)).status).toBe('succeeded');
});

test('a retry that waits is due at once when it is told to, and a paused job says why in a sentence', async () => {
  const env = { HEADGATE_TOKEN: everythingToken };
  const why = async (id: string) => (await headgate(['job', 'why', id, '--url', gateway.url], { env })).stdout;
  const now = (id: string) => gateway.call('POST', `/job/${id}/run-now`);
  const id = await gateway.submit('patient/handle', { times: 1 });
  await waitsFor(id, 'retry');
  // A slow ledger leaves the reason out of an answer.
  await expect
    .poll(() => why(id))
    .toMatch(/^patient\.handle waits for its next attempt: attempt 2 of 3 \(since 20.*, until 20.*\)\n$/);
  await pause('plugin/patient', { reason: 'provider down' });
  expect((await now(id)).body).toEqual({ job_id: id, status: 'queued', rescheduled: true });
  await waitsFor(id, 'paused');
  await expect
    .poll(() => why(id))
    .toMatch(/^patient\.handle is paused: the plugin patient is paused by api:ops: provider down \(since 20.*\)\n$/);
  expect((await now(id)).body).toMatchObject({ status: 'queued', rescheduled: false });
  // `run-now` has stored the new time, which a restart keeps.
  await gateway.restart();
  await waitsFor(id, 'paused');
  await resume('plugin/patient');
  expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 2 });
  expect((await now(id)).body).toMatchObject({ status: 409, code: 'already_settled', job_status: 'succeeded' });
  expect(await why(id)).toMatch(/^patient\.handle ended at 20.*: succeeded\n$/);

  const again = await gateway.submit('patient/handle', { times: 1 });
  await waitsFor(again, 'retry');
  const words = ['job', 'run-now', again, '--url', gateway.url];
  expect((await headgate(words, { env })).stdout).toBe(`${again} is due now\n`);
  expect((await gateway.settled(again)).attempt).toBe(2);
  await pause('pipeline/two');
  const run = await gateway.run('two');
  expect((await now(run)).body).toMatchObject({ status: 409, code: 'not_waiting' });
  expect((await now('0198c0de-0000-7000-8000-000000000000')).body).toMatchObject({ status: 404, code: 'unknown_job' });
  expect((await gateway.call('POST', `/job/${run}/run-now`, undefined, ops)).status).toBe(403);
});

test('it lasts over a kill and a reload, and a retry that is due waits', async () => {
  await pause('plugin/failing');
  const id = await gateway.submit('failing/handle', { times: 1 });
  await waitsFor(id, 'paused');
  await gateway.restart();
  await gateway.reload({ ...settings, plugins: { ...settings.plugins, late: echo } });
  await waitsFor(id, 'paused');
  await resume('plugin/failing');
  expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 2 });
  const again = await gateway.submit('failing/handle', { times: 1, gate: 'none' });
  await gateway.settled(again);
});

test('a pause with an end resumes by itself, also where the service was down then', async () => {
  const soon = await pause('plugin/echo', { for: '50ms' });
  expect(Date.parse(String(soon['until']))).toBeGreaterThan(Date.parse(String(soon['since'])));
  expect((await gateway.finished('echo/say')).status).toBe('succeeded');
  expect(await pauses()).toEqual([]);
  // The second pause replaces the first.
  await pause('plugin/echo', { until: new Date(Date.now() + 3_600_000).toISOString() });
  await pause('plugin/echo', { for: '1s' });
  const id = await gateway.submit('echo/say');
  await gateway.restart();
  expect((await gateway.settled(id)).status).toBe('succeeded');
  expect(await pauses()).toEqual([]);
});

test('with reject new calls get 503 and the time to come again; pausing again replaces the pause', async () => {
  await pause('plugin/mail', { reject: true, for: '10m' });
  const { status, body, headers } = await gateway.call('POST', '/plugin/mail/say', {});
  expect([status, body['code'], Number(headers.get('retry-after')) > 500]).toEqual([503, 'paused', true]);
  expect((await gateway.call('POST', '/plugin/letters/say', {})).status).toBe(503);
  // A pause of `letters` without `reject` does not hide the `reject` of the pause of `mail`, on which `letters` builds.
  await pause('plugin/letters');
  expect((await gateway.call('POST', '/plugin/letters/say', {})).body).toMatchObject({ status: 503, code: 'paused' });
  await resume('plugin/letters');
  expect((await gateway.finished('echo/say')).status).toBe('succeeded');
  await pause('plugin/mail');
  const taken = await gateway.submit('mail/say');
  await resume('plugin/mail');
  await gateway.settled(taken);
  // `reject` refuses whatever creates a job at once, reruns too.
  await pause('plugin/mail', { reject: true });
  const rerun = await gateway.call('POST', `/job/${taken}/rerun`, {});
  expect([rerun.status, rerun.body['code']]).toEqual([503, 'paused']);
  await resume('plugin/mail');

  await pause('plugin/echo', { command: 'say', reject: true });
  expect((await gateway.call('POST', '/plugin/echo/say', {})).headers.get('retry-after')).toBe('60');
  expect((await gateway.finished('echo/handle')).status).toBe('succeeded');
  await resume('plugin/echo', { command: 'say' });
  await pause('pipeline/two', { reject: true });
  expect((await gateway.call('POST', '/pipeline/two', {})).body).toMatchObject({ status: 503, code: 'paused' });
  await resume('pipeline/two');
  await pause('system', { reject: true });
  for (const path of ['/plugin/echo/say', '/pipeline/two'])
    expect((await gateway.call('POST', path, {})).body).toMatchObject({ status: 503, code: 'paused' });
});

test('what is wrong is refused with its place and what would be right', async () => {
  const wrong: readonly (readonly [path: string, body: object, status: number, detail: RegExp])[] = [
    ['plugin/nobody/pause', {}, 404, /there is no plugin "nobody"/],
    ['plugin/nobody/resume', {}, 404, /there is no plugin "nobody"/],
    ['pipeline/nobody/pause', {}, 404, /there is no pipeline "nobody"/],
    [
      'plugin/echo/pause',
      { command: 'sing' },
      400,
      /\/command must be a command of the plugin echo: one of handle, say/,
    ],
    ['plugin/echo/resume', { command: 'sing' }, 400, /\/command must be a command/],
    ['pipeline/two/pause', { command: 'say' }, 400, /\/command/],
    ['plugin/echo/pause', { key: 'acme' }, 400, /\/key/],
    ['plugin/echo/pause', { for: '1h', until: '2099-01-01T00:00:00Z' }, 400, /\/for must be absent/],
    ['plugin/echo/pause', { for: 'a while' }, 400, /\/for must be a duration from 1ms to 3650d, such as 30m/],
    ['plugin/echo/pause', { for: '0s' }, 400, /\/for must be a duration from 1ms to 3650d/],
    ['plugin/echo/pause', { for: '3651d' }, 400, /\/for must be a duration from 1ms to 3650d/],
    ['plugin/echo/pause', { until: 'tomorrow' }, 400, /\/until must be an RFC 3339 time/],
    ['plugin/echo/pause', { until: '2020-01-01T00:00:00Z' }, 400, /\/until must be in the future/],
    ['plugin/echo/pause', { reason: '' }, 400, /\/reason/],
    ['plugin/echo/pause', { reason: 'x'.repeat(501) }, 400, /\/reason/],
    ['plugin/echo/pause', { reject: 'yes' }, 400, /\/reject/],
  ];
  for (const [path, body, status, detail] of wrong) {
    const answer = await control(path, body);
    expect([path, body, answer.status]).toEqual([path, body, status]);
    expect(answer.body['detail']).toMatch(detail);
  }
  const looker = { token: 'a-token-that-looks' };
  expect((await gateway.call('POST', '/control/plugin/echo/pause', {}, looker)).status).toBe(403);
  expect((await gateway.call('POST', '/control/system/resume', {}, looker)).status).toBe(403);
  expect((await gateway.call('GET', '/pauses', undefined, looker)).status).toBe(200);
  expect(await pauses()).toEqual([]);
});

test('a pause of what the configuration no longer has can be ended', async () => {
  await pause('plugin/mail');
  const { mail: _, letters: __, ...instances } = settings.instances!;
  await gateway.reload({ ...settings, instances });
  expect((await control('plugin/mail/pause')).status).toBe(404);
  expect(await resume('plugin/mail')).toBe(true);
  expect((await control('plugin/mail/resume')).status).toBe(404);
  await gateway.reload(settings);
});

test('a breaker pauses its plugin, lets one job out after its time, and goes by how that ends', async () => {
  const doomed = { retry: false };
  const fine = { times: 0 };
  for (const payload of [doomed, fine, doomed]) await gateway.finished('brittle/handle', payload);
  const [opened] = await pauses();
  expect(opened).toMatchObject({
    target: { kind: 'plugin', name: 'brittle' },
    by: 'breaker',
    reason: '2 of its last 3 attempts failed',
  });
  expect(Date.parse(String(opened!['until'])) - Date.parse(String(opened!['since']))).toBe(1000);
  const ids = [await gateway.submit('brittle/handle', doomed)];
  for (let count = 0; count < 3; count++) ids.push(await gateway.submit('brittle/handle', fine));
  // The pause by the breaker lasts over a restart, although the counts of the breaker begin again.
  await gateway.restart();
  const [bad, ...good] = await gateway.allSettled(ids);
  expect([bad!.status, ...good.map(({ status }) => status)]).toEqual(['failed', 'succeeded', 'succeeded', 'succeeded']);
  expect(Date.parse(bad!.started_at!)).toBeGreaterThanOrEqual(Date.parse(String(opened!['until'])));
  // The job that failed opened the breaker again, for its whole time.
  for (const { started_at } of good)
    expect(Date.parse(started_at!) - Date.parse(bad!.completed_at!)).toBeGreaterThanOrEqual(990);
  expect(await pauses()).toEqual([]);
  // Without a breaker nothing is counted.
  for (let count = 0; count < 3; count++) await gateway.finished('failing/handle', doomed);
  expect(await pauses()).toEqual([]);
});

test('events tell of each pause and its end', async () => {
  const { seen } = await openSource(gateway, '?types=plugin.*,pipeline.*,system.*');
  await pause('plugin/echo', { command: 'say', reason: 'why', for: '20ms' });
  await pause('pipeline/two');
  await resume('pipeline/two');
  await pause('system');
  await resume('system');
  const found = await until('six events', () => {
    const all = seen.filter(({ type }) => /paused|resumed/.test(type));
    return all.length >= 6 ? all : null;
  });
  const by = 'api:ops';
  const fields = { plugin: 'echo', command: 'say', reason: 'why', until: expect.any(String) };
  expect(found.filter(({ type }) => type.startsWith('plugin.')).map(({ data }) => data)).toMatchObject([
    { ...fields, by },
    { ...fields, by: 'until' },
  ]);
  expect(found.filter(({ type }) => !type.startsWith('plugin.')).map(({ type, data }) => [type, data])).toMatchObject([
    ['pipeline.paused', { pipeline: 'two', by }],
    ['pipeline.resumed', { pipeline: 'two', by }],
    ['system.paused', { by }],
    ['system.resumed', { by }],
  ]);
});

test('a shell completes the names of plugins and pipelines, and nothing while the service does not answer', async () => {
  const offered = async (words: readonly string[], url = gateway.url) => {
    const env = { HEADGATE_TOKEN: everythingToken, HEADGATE_URL: url };
    const { stdout } = await headgate(['completion', 'fish', '--', ...words], { env });
    return stdout.split('\n').flatMap(line => (line === '' ? [] : [line.split('\t')[0]!]));
  };
  // Completion gives up if the service takes longer than a second to answer.
  const offers = (words: readonly string[]) => expect.poll(() => offered(words));
  await offers(['pause', 'plugin', 'ech']).toEqual(['echo']);
  await offers(['resume', 'plugin', '--command', 'say', 'ech']).toEqual(['echo']);
  await offers(['pause', 'pipeline', 'tw']).toEqual(['two']);
  await offers(['plugin', 'run', 'ech']).toEqual(['echo']);
  expect(await offered(['pause', 'plugin', 'echo', ''])).toEqual([]);
  await offers(['plugin', 'run', '--', 'ech']).toEqual(['echo']);
  expect(await offered(['plugin', 'run', '--', 'echo', 'ech'])).toEqual([]);
  expect(await offered(['pause', 'plugin', '--url=http://127.0.0.1:1', ''])).toEqual([]);
  expect(await offered(['pause', 'plugin', ''], 'http://127.0.0.1:1')).toEqual([]);
});

test('the command line pauses, lists and resumes, and status shows pauses first', async () => {
  const env = { HEADGATE_TOKEN: everythingToken };
  const run = (...words: string[]) => headgate([...words, '--url', gateway.url], { env });
  onTestFinished(async () => {
    for (const path of ['plugin/echo', 'pipeline/two', 'system']) await control(`${path}/resume`);
  });
  expect((await run('pauses')).stdout).toBe('nothing is paused\n');
  const paused = await run('pause', 'plugin', 'echo', '--for', '30m', '--reason', 'provider down');
  expect(paused.status).toBe(0);
  expect(paused.stdout).toMatch(/^the plugin echo is paused, until 20/);
  expect((await run('pause', 'pipeline', 'two', '--json')).json).toMatchObject({
    target: { kind: 'pipeline', name: 'two' },
  });
  expect((await run('pause', 'system', '--reject')).stdout).toContain('new calls are refused');
  expect((await run('pauses', '--json')).json.pauses).toHaveLength(3);
  const status = await run('status');
  const first = status.stdout.split('\n').slice(0, 3);
  expect(first.every(line => line.startsWith('paused '))).toBe(true);
  expect(status.stdout).toContain('the plugin echo by api:test since');
  expect((await run('status', '--json')).json.pauses).toHaveLength(3);
  for (const words of [['plugin', 'echo'], ['pipeline', 'two'], ['system']])
    expect((await run('resume', ...words)).stdout).toMatch(/is resumed\n$/);
  expect((await run('resume', 'system')).stdout).toBe('the service was not paused\n');
  expect((await run('pause', 'plugin', 'nobody')).status).toBe(4);
  expect((await run('pause', 'plugin', 'echo', '--for', '1h', '--until', '2099-01-01T00:00:00Z')).status).toBe(2);
});
