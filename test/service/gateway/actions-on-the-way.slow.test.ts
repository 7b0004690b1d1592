// Actions over many jobs that are interrupted by a stop, a reload or a pause; and the reasons why an action skips a job.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { everythingToken, type Settings } from './configuration.ts';
import { shareGateway } from './gateway.ts';
import { echo, failing, step, worker } from './sources.ts';
import { until } from './until.ts';

const day = { backoff_base: '24h', backoff_max: '24h' };
const settings: Settings = {
  plugins: {
    ...{ echo, failing, step, worker, leaving: echo, repeated: echo, resting: echo },
    // Ignores SIGTERM, so a cancel takes 5 s to end it.
    deaf: {
      code: '#!/bin/sh\ntrap \'\' TERM\n: >"$(dirname "$0")/../../deaf"\nsleep 60\n',
      entrypoint: 'main.sh',
      runtime: 'process',
      commands: { run: {} },
    },
    // Fails until its gate is open; any other job of the run succeeds.
    repaired: `import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
export const handle = ({ event: { payload } }) =>
  existsSync(resolve(import.meta.dirname, '../../gate-repaired')) ? { result: payload } : { status: 'error', error: 'down', retry: false };`,
  },
  instances: {
    patient: { uses: 'failing', retry: { max_attempts: 4, ...day } },
    twice: { uses: 'echo' },
  },
  pipelines: [
    {
      name: 'two',
      steps: [
        { id: 'first', uses: 'step' },
        { id: 'second', uses: 'repaired' },
      ],
    },
    { name: 'wide', steps: [{ id: 'each', uses: 'resting', foreach: 'payload.list' }] },
  ],
};
const gateway = shareGateway(settings);

type Action = {
  readonly state: string;
  readonly matched: number;
  readonly done: number;
  readonly failed: number;
  readonly skipped: { readonly [reason: string]: number };
};

async function start(body: object): Promise<string> {
  const { status, body: answer } = await gateway.call('POST', '/actions', body);
  expect([status, answer]).toEqual([202, expect.objectContaining({ action_id: expect.any(String) })]);
  return String(answer['action_id']);
}

async function action(id: string): Promise<Action> {
  return (await gateway.call('GET', `/action/${id}`)).body as unknown as Action;
}

function ended(id: string): Promise<Action> {
  return until('the action has ended', async () => {
    const now = await action(id);
    return now.state === 'running' ? null : now;
  });
}

const acted = async (body: object) => ended(await start(body));
const begun = (id: string) => until('the action has begun', async () => (await action(id)).done > 0);
const submitMany = (command: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => gateway.submit(command)));

/** Pauses a target until the test has ended. */
async function pause(target: string, body: object = {}): Promise<void> {
  onTestFinished(() => resume(target));
  expect((await gateway.call('POST', `/control/${target}/pause`, body)).status).toBe(200);
}

async function resume(target: string): Promise<void> {
  await gateway.call('POST', `/control/${target}/resume`);
}

test('a stop in the midst lets it go on after the start, from where it was', async () => {
  await pause('plugin/resting');
  await submitMany('resting/handle', 40);
  const id = await start({ do: 'cancel', where: { plugin: 'resting' }, per_second: 10 });
  await begun(id);
  expect(await gateway.term()).toEqual({ status: 0, signal: null });
  await gateway.start();
  expect(await action(id)).toMatchObject({ state: 'running' });
  expect(await ended(id)).toMatchObject({ state: 'succeeded', matched: 40, done: 40, skipped: {}, failed: 0 });
});

test('after a stop, jobs that were selected by the job they rerun are taken once', async () => {
  const id = await gateway.submit('repeated/handle');
  await gateway.settled(id);
  for (let run = 0; run < 12; run++) {
    const { body } = await gateway.call('POST', `/job/${id}/rerun`);
    await gateway.settled(String(body['job_id']));
  }
  const act = await start({ do: 'rerun', where: { rerun_of: id }, per_second: 3 });
  await until('the action has taken some', async () => (await action(act)).done >= 3);
  expect(await gateway.term()).toEqual({ status: 0, signal: null });
  await gateway.start();
  expect(await action(act)).toMatchObject({ state: 'running' });
  expect(await ended(act)).toMatchObject({ state: 'succeeded', matched: 12, done: 12, skipped: {}, failed: 0 });
  const { reruns } = (await gateway.call('GET', `/job/${id}`)).body as { readonly reruns: readonly string[] };
  const counts = reruns.map(async rerun => (await gateway.call('GET', `/job/${rerun}`)).body['rerun_count']);
  expect(await Promise.all(counts)).toEqual(Array(12).fill(1));
});

test('a reload in the midst does not disturb it; what the configuration has no more counts as failed', async () => {
  for (const id of await submitMany('leaving/handle', 30)) await gateway.settled(id);
  const id = await start({ do: 'rerun', where: { plugin: 'leaving' }, per_second: 5 });
  await begun(id);
  await gateway.reload(settings);
  const before = (await action(id)).done;
  await until('it goes on', async () => (await action(id)).done > before);
  const { leaving: _, ...staying } = settings.plugins!;
  await gateway.reload({ ...settings, plugins: staying });
  const { done, failed, ...end } = await ended(id);
  expect(end).toMatchObject({ state: 'succeeded', matched: 30, skipped: {} });
  expect([done > before, failed > 0, done + failed]).toEqual([true, true, 30]);
  await gateway.reload(settings);
});

test('it goes on under a pause of the service; with reject reruns wait for its end', async () => {
  await pause('plugin/resting');
  await submitMany('resting/handle', 3);
  const old = await gateway.finished('echo/handle');
  await pause('system');
  expect(await acted({ do: 'cancel', where: { plugin: 'resting', status: 'queued' } })).toMatchObject({ done: 3 });
  expect(await acted({ do: 'rerun', where: { job_id: old.job_id } })).toMatchObject({ done: 1 });
  const { reruns } = (await gateway.call('GET', `/job/${old.job_id}`)).body as { readonly reruns: readonly string[] };
  expect(await gateway.waiting(reruns[0]!, 'paused')).toMatchObject({ status: 'queued' });
  await pause('system', { reject: true });
  const id = await start({ do: 'rerun', where: { job_id: old.job_id } });
  // The rerun still waits, though another action, whose jobs the pause does not reject, has started and ended meanwhile.
  await acted({ do: 'cancel', where: { plugin: 'nowhere' } });
  expect(await action(id)).toMatchObject({ state: 'running', done: 0 });
  await resume('system');
  expect(await ended(id)).toMatchObject({ state: 'succeeded', done: 1 });
});

test('it takes the jobs of a cancelled run that it counted, although the others end as it begins', async () => {
  await pause('plugin/resting');
  const children = 4_000;
  const run = await gateway.run('wide', { list: Array.from({ length: children }, (_, n) => n) });
  await until('its children wait', async () => {
    const { body } = await gateway.call('GET', '/jobs?plugin=resting&status=queued&limit=1');
    return body['total'] === children;
  });
  expect((await gateway.call('POST', `/job/${run}/cancel`, {})).status).toBeLessThan(300);
  const end = await acted({ do: 'rerun', where: { run, children: true, status: 'cancelled' } });
  expect(end).toMatchObject({ state: 'succeeded', skipped: {}, failed: 0 });
  expect(end.done).toBe(end.matched);
  await acted({ do: 'cancel', where: { plugin: 'resting', children: true } });
});

describe('a job is left as it was, and counted by the reason', () => {
  const idOf = async (command: string) => (await gateway.finished(command)).job_id;

  test.each(['cancel', 'run_now'])('already_settled: %s of a job that has ended', async deed => {
    const where = { job_id: await idOf('echo/handle') };
    expect((await acted({ do: deed, where })).skipped).toEqual({ already_settled: 1 });
  });

  test('ending: a job that is being cancelled', async () => {
    const id = await gateway.submit('deaf/run');
    await until('it hears no signal', () => existsSync(join(gateway.directory, 'deaf')));
    expect((await gateway.call('POST', `/job/${id}/cancel`, {})).status).toBe(202);
    expect((await acted({ do: 'cancel', where: { job_id: id } })).skipped).toEqual({ ending: 1 });
  });

  test('not_settled: a rerun of a job that has not ended', async () => {
    await pause('plugin/resting');
    const where = { job_id: await gateway.submit('resting/handle') };
    expect((await acted({ do: 'rerun', where })).skipped).toEqual({ not_settled: 1 });
    await acted({ do: 'cancel', where });
  });

  test('not_waiting: run-now of a job that waits for no time', async () => {
    await pause('plugin/resting');
    const where = { job_id: await gateway.submit('resting/handle') };
    expect((await acted({ do: 'run_now', where })).skipped).toEqual({ not_waiting: 1 });
    await acted({ do: 'cancel', where });
  });

  test('not_found: a job that was pruned before its turn came', async () => {
    const where = { job_id: await idOf('twice/handle') };
    await pause('plugin/twice', { reject: true });
    const id = await start({ do: 'rerun', where });
    await gateway.reload({ ...settings, state: { retention: { jobs: '1ms' } } });
    const path = `/job/${where.job_id}`;
    await until('it is pruned', async () => (await gateway.call('GET', path)).status === 404);
    await resume('plugin/twice');
    expect((await ended(id)).skipped).toEqual({ not_found: 1 });
    await gateway.reload(settings);
  });
});

describe('a job whose payload is in parts, which the run before it has', () => {
  const parts = 6;
  const plugins = {
    large: 'export const handle = ({ event }) => ({ result: String(event.payload.item).repeat(1e6) });',
    last: 'export const handle = ({ event }) => ({ result: { lengths: event.payload.results.map(text => text.length) } });',
  };
  const steps = [
    { id: 'each', uses: 'large', foreach: 'payload.list' },
    { id: 'all', uses: 'last', join: 'all' },
  ];
  const joining: Settings = { plugins, pipelines: [{ name: 'joined', steps }] };
  const other = shareGateway(joining);

  async function joined() {
    const { job_id: run } = await other.ran('joined', { list: Array.from({ length: parts }, (_, n) => n) });
    const jobs = await other.tree(run);
    return { run, each: jobs[1]!.job_id, all: jobs.at(-1)!.job_id };
  }
  /** Reduces `max_jobs` to `kept` until this job is pruned. */
  async function prune(kept: number, id: string): Promise<void> {
    await other.reload({ ...joining, state: { retention: { max_jobs: kept } } });
    await until('it is pruned', async () => (await other.call('GET', `/job/${id}`)).status === 404);
    await other.reload(joining);
  }

  test('is not run again once the run is pruned: not_kept', async () => {
    const { run, all } = await joined();
    await prune(parts + 1, run);
    expect(await other.call('POST', `/job/${all}/rerun`, {})).toMatchObject({
      status: 409,
      body: { code: 'not_kept', detail: 'a part of the old payload is no longer stored: send a new payload' },
    });
    const { body } = await other.call('POST', '/actions', { do: 'rerun', where: { job_id: all, children: true } });
    const path = `/action/${body['action_id']}`;
    const end = await until('it has ended', async () => {
      const now = (await other.call('GET', path)).body;
      return now['state'] === 'running' ? null : now;
    });
    expect(end).toMatchObject({ matched: 1, done: 0, skipped: { not_kept: 1 } });
  });

  test('is run again with it, and keeps the run until it has run', async () => {
    const { run, each, all } = await joined();
    await other.call('POST', '/control/plugin/last/pause', {});
    const { body } = await other.call('POST', `/job/${all}/rerun`, {});
    await prune(1, each);
    for (const kept of [run, all]) expect((await other.call('GET', `/job/${kept}`)).status).toBe(200);
    await other.restart();
    await other.call('POST', '/control/plugin/last/resume');
    expect(await other.settled(String(body['job_id']))).toMatchObject({
      status: 'succeeded',
      result: { result: { lengths: Array(parts).fill(1e6) } },
    });
    expect((await other.call('GET', '/system/selfcheck')).body['failures']).toEqual([]);
  });
});

test('a rerun from what had failed takes over what succeeded, also from the command line', async () => {
  const runs = await Promise.all(Array.from({ length: 3 }, () => gateway.ran('two')));
  expect(runs.map(({ status }) => status)).toEqual(Array(3).fill('failed'));
  gateway.open('repaired');
  const direct = await gateway.finished('echo/handle');
  const where = { root: runs[0]!.job_id };
  expect(await acted({ do: 'rerun', where, from: 'failed' })).toMatchObject({ do: 'rerun', from: 'failed', done: 1 });
  expect(await acted({ do: 'rerun', where: { job_id: direct.job_id }, from: 'failed' })).toMatchObject({ done: 1 });
  const words = ['job', 'rerun', '--pipeline', 'two', '--status', 'failed', '--from', '1h', '--from-failed', '--json'];
  const { json } = await headgate([...words, '--url', gateway.url], { env: { HEADGATE_TOKEN: everythingToken } });
  expect(await ended(json.action_id)).toMatchObject({ from: 'failed', matched: 3, done: 3 });
  for (const { job_id: id } of runs) {
    const { reruns } = (await gateway.call('GET', `/job/${id}`)).body as { readonly reruns: readonly string[] };
    expect(await gateway.settled(reruns[0]!)).toMatchObject({
      status: 'succeeded',
      rerun_of: id,
      rerun_from: 'failed',
    });
    const reused = (await gateway.tree(reruns[0]!)).map(job => 'reused' in job);
    expect(reused.sort()).toEqual([false, false, true]);
  }
});
