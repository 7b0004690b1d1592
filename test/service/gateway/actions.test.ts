// Actions over many jobs as users see them (docs/engine.md#actions): counted first, then done to each job that matched, once.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { canary } from '../canary/canary.ts';
import { everythingToken } from './configuration.ts';
import { type Answer, type CallOptions, shareGateway } from './gateway.ts';
import { echo, failing, step, worker } from './sources.ts';
import { until } from './until.ts';

const bash = promisify(execFile);

const tokens = {
  ...{ control: canary('control'), jobs: canary('jobs'), both: canary('both') },
  ...{ reads: canary('reads'), writes: canary('writes'), finds: canary('finds') },
};
/** What each set of scopes allows: an action needs `control:rw`, and the scope for the same operation on a single job. */
const may = {
  control: { scopes: ['control:rw'], deeds: [] },
  jobs: { scopes: ['jobs:rw', 'plugin:rw', 'control:ro'], deeds: [] },
  both: { scopes: ['control:rw', 'jobs:rw'], deeds: ['cancel', 'run_now', 'search'] },
  reads: { scopes: ['control:rw', 'plugin:ro'], deeds: ['rerun of a read'] },
  writes: { scopes: ['control:rw', 'plugin:rw'], deeds: ['rerun of a read', 'rerun of a write', 'rerun of a run'] },
  finds: {
    scopes: ['control:rw', 'plugin:rw', 'jobs:result:ro'],
    deeds: ['rerun of a read', 'rerun of a write', 'rerun of a run', 'rerun of what is found'],
  },
} as const;

const slow = { backoff_base: '24h', backoff_max: '24h' };
const reader = { code: 'export const look = () => ({});', commands: { look: { type: 'read' } } };

const gateway = shareGateway({
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        ...(Object.keys(may) as (keyof typeof may)[]).map(name => ({
          ...{ name, token: tokens[name], scopes: [...may[name].scopes] },
        })),
      ],
    },
  },
  service: { max_workers: 2 },
  plugins: { echo, failing, step, worker, reader },
  instances: {
    single: { uses: 'worker', parallelism: 1 },
    other: { uses: 'worker', parallelism: 1 },
    paced: { uses: 'worker', parallelism: 1 },
    patient: { uses: 'failing', retry: { max_attempts: 4, ...slow } },
    mailer: { uses: 'failing', retry: { max_attempts: 2, backoff_base: '1ms', backoff_max: '1ms' } },
    listed: { uses: 'failing' },
    looked: { uses: 'reader' },
  },
  pipelines: [
    { name: 'line', on: 'line', steps: [{ id: 'first', uses: 'single' }] },
    { name: 'quick', on: 'quick', steps: [{ id: 'only', uses: 'step' }] },
  ],
});

type Action = {
  readonly action_id: string;
  readonly state: string;
  readonly matched: number;
  readonly done: number;
  readonly failed: number;
  readonly skipped: { readonly [reason: string]: number };
};

function post(body: object, options?: CallOptions): Promise<Answer> {
  return gateway.call('POST', '/actions', body, options);
}

async function action(id: string): Promise<Action> {
  return (await gateway.call('GET', `/action/${id}`)).body as unknown as Action;
}

/** Starts an action, and waits for its end. */
async function acted(body: object, options?: CallOptions): Promise<Action> {
  const answer = await post(body, options);
  expect(answer).toMatchObject({ status: 202 });
  return ended(String(answer.body['action_id']));
}

function ended(id: string): Promise<Action> {
  return until('the action has ended', async () => {
    const now = await action(id);
    return now.state === 'running' ? null : now;
  });
}

/** Occupies the only place of an instance until the test has ended, so that its other jobs wait. */
async function occupy(instance: string, gate: string): Promise<string> {
  onTestFinished(() => gateway.open(gate));
  const id = await gateway.submit(`${instance}/handle`, { gate });
  await gateway.noted('start', id);
  return id;
}

const submitMany = (command: string, count: number, payload: object = {}) =>
  Promise.all(Array.from({ length: count }, () => gateway.submit(command, payload)));

test('a dry run counts what matches and does nothing; the action cancels these jobs, and none that came later', async () => {
  const running = await occupy('single', 'later');
  const ids = await submitMany('single/handle', 12);
  const run = await gateway.run('line');
  const where = { plugin: 'single', status: 'queued' };
  const dry = await post({ do: 'cancel', where, dry_run: true });
  expect(dry.status).toBe(200);
  expect(dry.body).toEqual({ matched: 12, sample: [...ids].sort().slice(0, 10), up_to: expect.any(String) });
  expect((await gateway.job(ids[0]!)).status).toBe('queued');
  const { status, body } = await post({ do: 'cancel', where, reason: 'not needed' });
  const later = await gateway.submit('single/handle');
  expect(status).toBe(202);
  expect(body).toEqual({ action_id: expect.any(String), matched: 12, up_to: expect.any(String) });
  const id = String(body['action_id']);
  const end = await ended(id);
  expect(end).toEqual({
    ...{ action_id: id, state: 'succeeded', do: 'cancel', where, reason: 'not needed', by: 'api:test' },
    ...{ created_at: expect.any(String), completed_at: expect.any(String), up_to: body['up_to'] },
    ...{ matched: 12, done: 12, skipped: {}, failed: 0 },
  });
  for (const each of ids) {
    const cancel = { by: 'api:test', reason: 'not needed' };
    expect(await gateway.job(each)).toMatchObject({ status: 'cancelled', attempt: 0, cancel });
  }
  expect((await gateway.job(later)).status).toBe('queued');
  expect((await gateway.job(running)).status).toBe('running');
  expect((await gateway.job(run)).status).toBe('running');
  gateway.open('later');
  expect((await gateway.settled(run)).status).toBe('succeeded');
});

test('an action is a job: listed, shown, with events, and never taken by another action', async () => {
  const { action_id: id } = await acted({ do: 'cancel', where: { plugin: 'nowhere' } });
  expect(await gateway.job(id)).toMatchObject({
    ...{ plugin: 'headgate', command: 'cancel', status: 'succeeded', attempt: 1, submitted_by: 'api:test' },
    result: { status: 'ok', result: { matched: 0, done: 0, skipped: {}, failed: 0 } },
    payload: { do: 'cancel', where: { plugin: 'nowhere' }, matched: 0 },
  });
  const { body } = await gateway.call('GET', '/jobs?plugin=headgate&limit=1');
  expect(body['jobs']).toMatchObject([{ job_id: id }]);
  const listed = await gateway.call('GET', '/actions?limit=1');
  expect(listed.body).toEqual({
    actions: [await action(id)],
    total: body['total'],
    ...(Number(body['total']) > 1 && { next_cursor: expect.any(String) }),
  });
  expect((await post({ do: 'cancel', where: { plugin: 'headgate' }, dry_run: true })).body['matched']).toBe(0);
  expect(await gateway.call('POST', `/job/${id}/rerun`, {})).toMatchObject({
    status: 400,
    body: { detail: 'an action cannot be run again: start a new one with POST /actions' },
  });
  expect((await gateway.call('GET', '/action/0198c0de-0000-7000-8000-000000000000')).status).toBe(404);
});

test('jobs that run are stopped, and runs end with all that is inside', async () => {
  const running = await occupy('other', 'never');
  const run = await gateway.run('line', { gate: 'never' });
  const { action_id: id } = await acted({ do: 'cancel', where: { plugin: 'other' } });
  expect(await action(id)).toMatchObject({ matched: 1, done: 1 });
  expect((await gateway.settled(running)).status).toBe('cancelled');
  const ofRuns = { pipeline: 'line', status: 'running' };
  expect(await acted({ do: 'cancel', where: ofRuns })).toMatchObject({ matched: 1, done: 1, skipped: {} });
  expect((await gateway.settled(run)).status).toBe('cancelled');
});

test('with a pace and a limit it stops at the limit, and can be cancelled on the way', async () => {
  await occupy('paced', 'pace');
  await submitMany('paced/handle', 30);
  const where = { plugin: 'paced', status: 'queued' };
  expect(await acted({ do: 'cancel', where, limit: 3 })).toMatchObject({ matched: 30, done: 3 });
  const { body } = await post({ do: 'cancel', where, per_second: 1 });
  const id = String(body['action_id']);
  await until('it has begun', async () => (await action(id)).done > 0);
  expect(await gateway.call('POST', `/job/${id}/cancel`, { reason: 'wrong filter' })).toMatchObject({
    status: 200,
    body: { job_id: id, status: 'cancelled' },
  });
  const end = await action(id);
  expect(end).toMatchObject({ state: 'cancelled', matched: 27, cancel: { by: 'api:test', reason: 'wrong filter' } });
  expect(end.done).toBeLessThan(27);
  const left = await gateway.call('GET', '/jobs?plugin=paced&status=queued&limit=1');
  expect(left.body['total']).toBe(27 - end.done);
  expect(await acted({ do: 'cancel', where })).toMatchObject({ done: 27 - end.done });
});

test('run_now makes retries due at once, and says which jobs waited for nothing', async () => {
  const ids = await submitMany('patient/handle', 3, { times: 1 });
  for (const id of ids) await until('it has failed once', async () => (await gateway.job(id)).last_error);
  const { job_id: done } = await gateway.finished('echo/handle');
  expect(await acted({ do: 'run_now', where: { plugin: 'patient' } })).toMatchObject({ matched: 3, done: 3 });
  for (const id of ids) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 2 });
  expect(await acted({ do: 'run_now', where: { job_id: done } })).toMatchObject({ skipped: { already_settled: 1 } });
});

test('rerun runs each again, once, with its payload; those that fail again are not taken again', async () => {
  const ids = await submitMany('mailer/handle', 5, { message: 'ECONNREFUSED to the provider' });
  const [different] = await submitMany('mailer/handle', 1, { message: 'a wrong address' });
  for (const id of [...ids, different!]) await gateway.settled(id);
  const where = { plugin: 'mailer', status: 'dead', error: '"econnrefused"' };
  const dry = await post({ do: 'rerun', where, dry_run: true });
  expect(dry.body).toMatchObject({ matched: 5, index_at: expect.any(String) });
  expect(await acted({ do: 'rerun', where, reason: 'it is back' })).toMatchObject({ matched: 5, done: 5 });
  for (const id of ids) {
    const old = (await gateway.call('GET', `/job/${id}`)).body as { readonly reruns: readonly string[] };
    expect(old.reruns).toHaveLength(1);
    expect(await gateway.settled(old.reruns[0]!)).toMatchObject({
      ...{ status: 'dead', rerun_of: id, rerun_reason: 'it is back', submitted_by: 'api:test' },
      payload: { message: 'ECONNREFUSED to the provider' },
    });
  }
  // With the five new jobs, twice as many match.
  expect((await post({ do: 'rerun', where, dry_run: true })).body['matched']).toBe(10);
  expect((await post({ do: 'rerun', where: { ...where, query: 'address' }, dry_run: true })).body['matched']).toBe(0);
  const found = await post({ do: 'rerun', where: { plugin: 'mailer', query: 'address' }, dry_run: true });
  expect(found.body).toMatchObject({ matched: 1, sample: [different] });
  const { body } = await post({ do: 'rerun', where: { job_id: different! }, dry_run: true });
  expect(body['matched']).toBe(1);
});

test('a rerun that a pause refuses says which pause it waits for, and goes on after the pause', async () => {
  const { job_id } = await gateway.finished('echo/handle');
  await gateway.call('POST', '/control/plugin/echo/pause', { reject: true, reason: 'mends' });
  onTestFinished(async () => void (await gateway.call('POST', '/control/plugin/echo/resume', {})));
  const { body } = await gateway.call('POST', '/actions', { do: 'rerun', where: { job_id } });
  const id = String(body['action_id']);
  const detail = 'the plugin echo is paused by api:test: mends';
  const waits = await until('it waits', async () => (await gateway.call('GET', `/job/${id}`)).body['waits_for']);
  expect(waits).toMatchObject({ reason: 'paused', detail });
  const env = { HEADGATE_TOKEN: everythingToken };
  expect((await headgate(['job', 'why', id, '--url', gateway.url], { env })).stdout).toContain(detail);
  await gateway.call('POST', '/control/plugin/echo/resume', {});
  expect((await gateway.settled(id)).result).toMatchObject({ result: { done: 1 } });
});

test('jobs inside runs match only with children', async () => {
  const run = await gateway.ran('quick', {});
  const all = { root: run.job_id };
  expect((await post({ do: 'rerun', where: all, dry_run: true })).body).toMatchObject({ sample: [run.job_id] });
  const { body } = await post({ do: 'rerun', where: { ...all, children: true }, dry_run: true });
  expect(body['matched']).toBe(2);
  const inside = { run: run.job_id, children: true };
  expect(await acted({ do: 'rerun', where: inside })).toMatchObject({ matched: 1, done: 1 });
  expect(await acted({ do: 'rerun', where: { pipeline: 'quick' } })).toMatchObject({ matched: 1, done: 1 });
});

test('from and to are of attempts that ended', async () => {
  const job = await gateway.finished('listed/handle', { retry: false });
  const at = { plugin: 'listed', status: 'failed' };
  const count = async (more: object) => {
    const { body } = await post({ do: 'rerun', where: { ...at, ...more }, dry_run: true });
    return body['matched'];
  };
  expect(await count({ from: job.completed_at, to: job.completed_at })).toBe(1);
  expect(await count({ to: job.created_at })).toBe(0);
  expect(await count({ from: '2199-01-01T00:00:00Z' })).toBe(0);
  expect(await count({ submitted_by: 'api:test', command: 'handle' })).toBe(1);
  expect(await count({ submitted_by: 'api:nobody' })).toBe(0);
  await occupy('single', 'unstarted');
  const unstarted = await gateway.submit('single/handle');
  await gateway.call('POST', `/job/${unstarted}/cancel`, {});
  const { created_at: from } = await gateway.settled(unstarted);
  const of = { plugin: 'single', status: undefined, from };
  expect(await count(of)).toBe(0);
  expect(await count({ ...of, status: 'cancelled' })).toBe(1);
  expect(await count({ ...of, job_id: unstarted })).toBe(1);
});

test('a call with an Idempotency-Key starts one action', async () => {
  const headers = { 'Idempotency-Key': 'once' };
  const body = { do: 'cancel', where: { plugin: 'nobody' } };
  const first = await post(body, { headers });
  expect(await post(body, { headers })).toMatchObject({ status: 202, body: first.body });
  expect((await post({ ...body, limit: 1 }, { headers })).status).toBe(422);
});

test('a repeated call gets the first answer, although the caller may not run again what matches now', async () => {
  const { created_at } = await gateway.finished('looked/look');
  const body = { do: 'rerun', where: { created_from: created_at, submitted_by: 'api:test' } };
  const options = { headers: { 'Idempotency-Key': 'repeated' }, token: tokens.reads };
  const first = await post(body, options);
  expect(first).toMatchObject({ status: 202, body: { matched: 1 } });
  await gateway.finished('echo/handle');
  expect(await post(body, options)).toMatchObject({ status: 202, body: first.body });
  expect((await post(body, { token: tokens.reads })).status).toBe(403);
});

test('the command line counts, starts, lists and shows', async () => {
  const run = (...words: string[]) =>
    headgate([...words, '--url', gateway.url], { env: { HEADGATE_TOKEN: everythingToken } });
  await gateway.finished('listed/handle', { retry: false });
  const filters = ['--plugin', 'listed', '--status', 'error', '--from', '1h'];
  const dry = await run('job', 'rerun', ...filters, '--dry-run', '--json');
  expect(dry.json).toMatchObject({ matched: expect.any(Number), sample: expect.any(Array) });
  const { json } = await run('job', 'rerun', ...filters, '--limit', '1', '--reason', 'by hand', '--json');
  expect(json).toEqual({ action_id: expect.any(String), matched: dry.json.matched, up_to: expect.any(String) });
  await ended(json.action_id);
  const shown = await run('action', 'show', json.action_id);
  expect(shown.stdout).toContain(`1 done of ${json.matched}`);
  expect(shown.stdout).toContain('at most 1; by hand');
  expect((await run('action', 'list', '--limit', '1')).stdout).toMatch(/ACTION .*\n.* succeeded +rerun /);
  expect((await run('job', 'cancel', '--plugin', 'nobody')).stdout).toMatch(/ cancels: 0 jobs match/);
  const none = await run('job', 'run-now', '--plugin', 'nobody', '--dry-run');
  expect(none.stdout).toMatch(/^0 jobs match, as of /);
  expect(none.stderr).toContain('only runs and direct jobs match; add --children for jobs inside runs');
  const all = await run('job', 'run-now', '--plugin', 'nobody', '--children', '--dry-run');
  expect(all.stderr).not.toContain('--children');
  const both = await run('job', 'cancel', json.action_id, '--plugin', 'x');
  expect(both).toMatchObject({ status: 2, stderr: expect.stringContaining('leave out --plugin, or the ids') });
  const timed = await run('job', 'rerun', json.action_id, '--from', '1h');
  expect(timed).toMatchObject({ status: 2, stderr: expect.stringContaining('leave out --from, or the ids') });
  const point = await run('job', 'rerun', '--plugin', 'nobody', '--from', 'failed');
  expect(point).toMatchObject({ status: 2, stderr: expect.stringContaining('--from failed is for a single job') });
  const empty = await run('job', 'run-now');
  expect(empty).toMatchObject({ status: 2, stderr: expect.stringContaining('give the ids of jobs, or filters') });
});

test('the examples of the page do what it says', async () => {
  const page = readFileSync(new URL('../../../docs/engine.md', import.meta.url), 'utf8');
  const section = page.slice(page.indexOf('## Actions'), page.indexOf('## Pauses'));
  await gateway.finished('mailer/handle', { message: 'connect ECONNREFUSED' });
  const env = { ...process.env, HEADGATE_TOKEN: everythingToken };
  const [, curl] = /```sh\n([^`]*)```/.exec(section)!;
  const { stdout } = await bash('bash', ['-c', curl!.replace('http://127.0.0.1:8080', gateway.url)], { env });
  const counted = JSON.parse(stdout);
  expect(counted).toEqual({
    ...{ matched: expect.any(Number), sample: expect.any(Array) },
    ...{ up_to: expect.any(String), index_at: expect.any(String) },
  });
  expect(counted.matched).toBeGreaterThan(0);
  const lines = [...section.matchAll(/^\$ headgate (.*)$/gm)].map(([, words]) => words!);
  expect(lines.length).toBeGreaterThan(2);
  for (const words of lines) {
    const given = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
    const { status, stderr } = await headgate([...given, '--url', gateway.url], { env });
    expect([words, status, stderr]).toEqual([words, 0, expect.any(String)]);
  }
  const { body } = await gateway.call('GET', '/actions?limit=2');
  expect(body['actions']).toMatchObject([
    { do: 'rerun', from: 'failed', where: { pipeline: 'import', status: 'failed', from: expect.any(String) } },
    { do: 'rerun', where: { plugin: 'mailer', status: 'dead', error: 'ECONNREFUSED' }, per_second: 500 },
  ]);
});

test('it needs its own scope and that of the single deed', async () => {
  const nobody = { plugin: 'nobody' };
  const { job_id: look } = await gateway.finished('looked/look');
  const { job_id: write } = await gateway.finished('echo/handle');
  const { job_id: run } = await gateway.ran('quick', {});
  const bodies = {
    cancel: { do: 'cancel', where: nobody },
    run_now: { do: 'run_now', where: nobody },
    search: { do: 'cancel', where: { ...nobody, query: 'x' } },
    'rerun of a read': { do: 'rerun', where: { job_id: look } },
    'rerun of a write': { do: 'rerun', where: { job_id: write } },
    'rerun of a run': { do: 'rerun', where: { job_id: run }, from: 'failed' },
    'rerun of what is found': { do: 'rerun', where: { job_id: write, error: 'x' } },
  };
  for (const name of Object.keys(may) as (keyof typeof may)[]) {
    const allowed: string[] = [];
    for (const [deed, body] of Object.entries(bodies)) {
      const { status } = await post({ ...body, dry_run: true }, { token: tokens[name] });
      if (status === 200) allowed.push(deed);
      else expect([name, deed, status]).toEqual([name, deed, 403]);
    }
    expect([name, allowed]).toEqual([name, may[name].deeds]);
  }
});
