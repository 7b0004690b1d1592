// How the service starts, refuses to, stops, and comes back.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refusedStart, startGateway } from './gateway.ts';
import { echo, journal, step, worker } from './sources.ts';
import { until } from './until.ts';

const careful = `${journal}
export async function handle(request) { note(request, 'start'); await gate('careful'); note(request, 'end'); }
`;

test('SIGTERM under load ends with 0; nothing is lost, and nothing that had finished runs twice', async () => {
  const gateway = await startGateway({
    plugins: { step },
    pipelines: [
      {
        name: 'fan',
        on: 'fan',
        steps: [
          { id: 'each', uses: 'step', foreach: 'payload.list' },
          { id: 'all', uses: 'step', join: 'all' },
        ],
      },
    ],
  });
  const accepted: string[] = [];
  let refused = 0;
  const client = async () => {
    while (refused === 0) {
      const isRun = accepted.length % 10 === 0;
      const path = isRun ? '/pipeline/fan?async=true' : '/plugin/step/handle';
      const payload = isRun ? { list: [{}, {}, {}] } : { wait: 1 };
      const answer = await gateway.call('POST', path, { payload }).catch(() => null);
      if (answer?.status === 202) accepted.push(String(answer.body['job_id']));
      else refused++;
    }
  };
  const clients = [1, 2, 3, 4, 5, 6].map(client);
  await until('there is load', () => accepted.length >= 100);
  expect(await gateway.term()).toEqual({ status: 0, signal: null });
  await Promise.all(clients);
  await gateway.start();
  for (const id of accepted) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded' });
  const starts = gateway.journal().filter(({ what }) => what === 'start');
  expect(new Set(starts.map(({ job }) => job)).size).toBe(starts.length);
});

test('a graceful stop lets running jobs finish, refuses new work meanwhile, and answers reads', async () => {
  const gateway = await startGateway({ plugins: { worker } });
  const id = await gateway.submit('worker/handle', { gate: 'slow' });
  await gateway.noted('start', id);
  const ended = gateway.term();
  const refusal = await until('new work is refused', async () => {
    const answer = await gateway.call('POST', '/plugin/worker/handle');
    return answer.status === 202 ? null : answer;
  });
  expect([refusal.status, refusal.body['code'], refusal.headers.get('Retry-After')]).toEqual([503, 'stopping', '5']);
  // Each answer has closed its connection: these are new ones.
  expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ status: 'stopping' });
  expect(await gateway.job(id)).toMatchObject({ status: 'running' });
  gateway.open('slow');
  expect(await ended).toEqual({ status: 0, signal: null });
  await gateway.start();
  expect(await gateway.job(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(gateway.notesOf(id)).toHaveLength(2);
});

test('what still runs after the grace is queued again, and loses no attempt', async () => {
  const gateway = await startGateway({ plugins: { worker } }, { grace: '50ms' });
  const id = await gateway.submit('worker/handle', { gate: 'slow' });
  await gateway.noted('start', id);
  expect(await gateway.term()).toEqual({ status: 0, signal: null });
  gateway.open('slow');
  await gateway.start();
  expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
});

test('a caller who waits for a run gets an answer when the service stops', async () => {
  const gateway = await startGateway(
    {
      plugins: { worker },
      pipelines: [{ name: 'held', on: 'held', execution_mode: 'synchronous', steps: [{ id: 'hold', uses: 'worker' }] }],
    },
    { grace: '100ms' },
  );
  const answer = gateway.call('POST', '/pipeline/held', { payload: { gate: 'never' } });
  await gateway.noted('start');
  const ended = gateway.term();
  const { status, body } = await answer;
  expect(status).toBe(202);
  expect(body).toMatchObject({ status: 'running', job_id: expect.any(String) });
  expect(await ended).toEqual({ status: 0, signal: null });
});

test('SIGINT is a graceful stop too', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  gateway.signal('SIGINT');
  expect(await gateway.ended).toEqual({ status: 0, signal: null });
});

test('a killed service goes on with what it had accepted', async () => {
  const gateway = await startGateway({ plugins: { worker }, instances: { worker: { parallelism: 1 } } });
  const running = await gateway.submit('worker/handle', { gate: 'all' });
  const queued = await gateway.submit('worker/handle', { gate: 'all' });
  await gateway.noted('start', running);
  await gateway.restart();
  gateway.open('all');
  expect(await gateway.settled(running)).toMatchObject({ status: 'succeeded' });
  expect(await gateway.settled(queued)).toMatchObject({ status: 'succeeded', attempt: 1 });
});

test('no process of a plugin outlives a killed service by more than a moment', async () => {
  const code = `#!/bin/sh\ntrap '' TERM\nsleep 60 &\necho $! $$ > ../../sleepers.new\nmv ../../sleepers.new ../../sleepers\nwait\n`;
  const gateway = await startGateway({
    plugins: { sleeping: { code, entrypoint: 'run.sh', runtime: 'process', commands: { handle: {} } } },
  });
  const sleepers = join(gateway.directory, 'sleepers');
  await gateway.submit('sleeping/handle');
  await until('the program runs', () => existsSync(sleepers));
  const pids = readFileSync(sleepers, 'utf8').trim().split(' ').map(Number);
  expect(pids.map(isRunning)).toEqual([true, true]);
  await gateway.kill9();
  await until('all of them are gone', () => !pids.some(isRunning));
});

/** A process that has ended and waits for its parent does not count. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

test('a job that may not run twice has failed as lost when the service was killed while it ran', async () => {
  const gateway = await startGateway({
    plugins: { careful: { code: careful, commands: { handle: { retry_safe: false } } } },
  });
  const [id, other] = [await gateway.submit('careful/handle'), await gateway.submit('careful/handle')];
  await gateway.noted('start', 2);
  await gateway.kill9();
  gateway.open('careful');
  await gateway.start();
  for (const lost of [id, other]) {
    expect(await gateway.settled(lost)).toMatchObject({ status: 'failed', last_error: 'lost while running' });
    expect(gateway.notesOf(lost).filter(({ what }) => what === 'start')).toHaveLength(1);
  }
});

test('a job during which the service dies again and again is dead in the end', async () => {
  const gateway = await startGateway({
    plugins: { worker, echo },
    instances: { worker: { retry: { max_attempts: 2, backoff_base: '1ms' } } },
  });
  const id = await gateway.submit('worker/handle', { gate: 'never' });
  for (const attempt of [1, 2]) {
    await until(`attempt ${attempt} starts`, () => gateway.notesOf(id).some(note => note.attempt === attempt));
    await gateway.restart();
  }
  expect(await gateway.settled(id)).toMatchObject({ status: 'dead', attempt: 2 });
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});

test('a second instance on the same state is refused with 75, and names the process that holds it', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  const state = { path: `${gateway.directory}/data` };
  const { status, said } = await refusedStart({ plugins: { echo }, state });
  expect(status).toBe(75);
  expect(said).toContain(String(gateway.pid));
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});

test('a wrong configuration ends with 78, and says everything that is wrong and where', async () => {
  const { status, said } = await refusedStart({
    plugins: { echo },
    service: { max_workers: 'many', log_levle: 'info' },
    pipelines: [{ name: 'p', on: 'p', steps: [{ uses: 'ecko' }] }],
  });
  expect(status).toBe(78);
  const [what, ...lines] = said.trim().split('\n');
  expect(what).toBe('headgate: the configuration is wrong');
  expect(lines.every(line => /^\S+config\.yaml:\d+:\d+: /.test(line))).toBe(true);
  expect(said).toMatch(/service\.max_workers: /);
  expect(said).toMatch(/log_levle.*did you mean "log_level"/);
  expect(said).toMatch(/pipelines\[0\]\.steps\[0\]\.uses: .*ecko.*did you mean "echo"/);
});

test('past max_queue_depth new work gets 503 with Retry-After, until there is room', async () => {
  const gateway = await startGateway({ plugins: { worker }, service: { max_queue_depth: 3 } });
  const ids = await Promise.all([1, 2, 3].map(() => gateway.submit('worker/handle', { gate: 'all' })));
  const { status, headers, body } = await gateway.call('POST', '/plugin/worker/handle');
  expect([status, body['code']]).toEqual([503, 'queue_full']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  gateway.open('all');
  for (const id of ids) await gateway.settled(id);
  expect(await gateway.finished('worker/handle')).toMatchObject({ status: 'succeeded' });
});

test('retention keeps no more settled jobs than max_jobs, and never drops an open one', async () => {
  const gateway = await startGateway({
    plugins: { worker, echo },
    state: { retention: { max_jobs: 20, jobs: '30d' } },
  });
  const open = await gateway.submit('worker/handle', { gate: 'later' });
  const ids: string[] = [];
  for (let i = 0; i < 60; i++) ids.push((await gateway.finished('echo/handle')).job_id);
  const kept = async () => {
    const answers = await Promise.all(ids.map(id => gateway.call('GET', `/job/${id}`)));
    return answers.filter(({ status }) => status === 200).length;
  };
  await until('old jobs are gone', async () => (await kept()) <= 20);
  expect((await gateway.call('GET', `/job/${ids[0]}`)).status).toBe(404);
  expect((await gateway.call('GET', `/job/${ids[59]}`)).status).toBe(200);
  gateway.open('later');
  expect(await gateway.settled(open)).toMatchObject({ status: 'succeeded' });
});
