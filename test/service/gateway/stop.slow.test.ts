// How the service starts, refuses to, stops, and comes back.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Job, refusedStart, shareGateway } from './gateway.ts';
import { echo, journal, step, worker } from './sources.ts';
import { until } from './until.ts';

const careful = `${journal}
export async function handle(request) { note(request, 'start'); await gate('careful'); note(request, 'end'); }
`;
/** Its first run writes down its processes and sleeps, deaf to SIGTERM. */
const sleeping = `#!/bin/sh
if [ -e ../../sleepers ]; then echo '{"status":"ok"}'; exit; fi
trap '' TERM
sleep 60 &
echo $! $$ > ../../sleepers.new
mv ../../sleepers.new ../../sleepers
wait
`;

describe('a service that stops, is killed, and comes back on the same state', () => {
  const gateway = shareGateway({
    service: { max_workers: 3 },
    plugins: {
      step,
      worker,
      echo,
      careful: { code: careful, commands: { handle: { retry_safe: false } } },
      sleeping: { code: sleeping, entrypoint: 'run.sh', runtime: 'process', commands: { handle: {} } },
    },
    instances: {
      single: { uses: 'worker', parallelism: 1 },
      mortal: { uses: 'worker', retry: { max_attempts: 2, backoff_base: '1ms' } },
    },
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

  test('SIGTERM under load ends with 0; nothing is lost, and nothing that had finished runs twice', async () => {
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
    const id = await gateway.submit('worker/handle', { gate: 'slow' });
    await gateway.noted('start', id);
    const ended = gateway.term();
    const refusal = await until('new work is refused', async () => {
      const answer = await gateway.call('POST', '/plugin/worker/handle');
      return answer.status === 202 ? null : answer;
    });
    expect([refusal.status, refusal.body['code'], refusal.headers.get('Retry-After')]).toEqual([503, 'stopping', '5']);
    // A stopping service closes each connection after its answer, so these calls need new connections.
    expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ status: 'stopping' });
    expect(await gateway.job(id)).toMatchObject({ status: 'running' });
    gateway.open('slow');
    expect(await ended).toEqual({ status: 0, signal: null });
    await gateway.start();
    expect(await gateway.job(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
    expect(gateway.notesOf(id)).toHaveLength(2);
  });

  test('a second instance on the same state is refused with 75, and names the process that holds it', async () => {
    const state = { path: `${gateway.directory}/data` };
    const { status, said } = await refusedStart({ plugins: { echo }, state });
    expect(status).toBe(75);
    expect(said).toContain(String(gateway.pid));
    expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
  });

  test('a job during which the service dies again and again is dead in the end', async () => {
    const id = await gateway.submit('mortal/handle', { gate: 'never' });
    for (const attempt of [1, 2]) {
      await until(`attempt ${attempt} starts`, () => gateway.notesOf(id).some(note => note.attempt === attempt));
      await gateway.restart();
    }
    expect(await gateway.settled(id)).toMatchObject({ status: 'dead', attempt: 2 });
    expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
  });

  describe('killed while it is at work', () => {
    let running: string;
    let queued: string;
    let once: string[];
    let programs: number[];

    beforeAll(async () => {
      running = await gateway.submit('single/handle', { gate: 'all' });
      await gateway.noted('start', running);
      queued = await gateway.submit('single/handle', { gate: 'all' });
      once = [await gateway.submit('careful/handle'), await gateway.submit('careful/handle')];
      for (const id of once) await gateway.noted('start', id);
      const sleepers = join(gateway.directory, 'sleepers');
      await gateway.submit('sleeping/handle');
      await until('the program runs', () => existsSync(sleepers));
      programs = readFileSync(sleepers, 'utf8').trim().split(' ').map(Number);
      expect(programs.map(isRunning)).toEqual([true, true]);
      await gateway.kill9();
    });

    test('it leaves no process of a plugin for more than a moment', async () => {
      await until('all of them are gone', () => !programs.some(isRunning));
    });

    describe('and started again', () => {
      beforeAll(async () => {
        for (const gate of ['all', 'careful']) gateway.open(gate);
        await gateway.start();
      });

      test('it goes on with what it had accepted', async () => {
        expect(await gateway.settled(running)).toMatchObject({ status: 'succeeded' });
        expect(await gateway.settled(queued)).toMatchObject({ status: 'succeeded', attempt: 1 });
      });

      test('jobs that may not run twice have failed as lost', async () => {
        for (const lost of once) {
          expect(await gateway.settled(lost)).toMatchObject({ status: 'failed', last_error: 'lost while running' });
          expect(gateway.notesOf(lost).filter(({ what }) => what === 'start')).toHaveLength(1);
        }
      });
    });
  });
});

/** Whether the process runs. A zombie, which waits only for its parent, does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

describe('a grace that is over', () => {
  const gateway = shareGateway(
    {
      plugins: { worker, echo },
      pipelines: [
        { name: 'held', on: 'held', execution_mode: 'synchronous', steps: [{ id: 'hold', uses: 'worker' }] },
        {
          name: 'cleaned',
          steps: [{ id: 'hold', uses: 'worker' }],
          on_failure: [{ id: 'tell', uses: 'echo' }],
          finally: [{ id: 'clean', uses: 'echo' }],
        },
      ],
    },
    { grace: '50ms' },
  );

  test('what still runs is queued again, and loses no attempt', async () => {
    const id = await gateway.submit('worker/handle', { gate: 'slow' });
    await gateway.noted('start', id);
    expect(await gateway.term()).toEqual({ status: 0, signal: null });
    gateway.open('slow');
    await gateway.start();
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  });

  test('a job that has started and is queued again does not expire', async () => {
    const { body } = await gateway.call('POST', '/plugin/worker/handle', {
      payload: { gate: 'begun' },
      expires: '1s',
    });
    const id = String(body['job_id']);
    await gateway.noted('start', id);
    const { expires_at } = (await gateway.job(id)) as Job & { readonly expires_at: string };
    await until('its time has passed', () => Date.now() > Date.parse(expires_at));
    expect(await gateway.term()).toEqual({ status: 0, signal: null });
    gateway.open('begun');
    await gateway.start();
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  });

  test.each([
    ['cancelled', ['finally']],
    ['timed_out', ['on_failure', 'finally']],
  ] as const)(
    'a run whose job is queued again has started: if it ends %s, its phases follow',
    async (status, phases) => {
      const options = status === 'timed_out' ? { deadline: '5s' } : {};
      const asked = await gateway.call('POST', '/pipeline/cleaned', { payload: { gate: 'never' }, ...options });
      const run = String(asked.body['job_id']);
      const child = await until('its job', async () => (await gateway.tree(run)).find(job => job.job_id !== run));
      await gateway.noted('start', child.job_id);
      await gateway.call('POST', '/control/plugin/worker/pause');
      expect(await gateway.term()).toEqual({ status: 0, signal: null });
      await gateway.start();
      if (status === 'cancelled') await gateway.call('POST', `/job/${run}/cancel`);
      expect((await gateway.settled(run)).status).toBe(status);
      const jobs = await Promise.all(
        (await gateway.tree(run)).map(async ({ job_id }) => (await gateway.call('GET', `/job/${job_id}`)).body),
      );
      expect(jobs.flatMap(({ phase }) => phase ?? [])).toEqual(phases);
      expect(jobs.find(({ job_id }) => job_id === child.job_id)).toMatchObject({ attempt: 1 });
      await gateway.call('POST', '/control/plugin/worker/resume');
    },
  );

  test('a caller who waits for a run gets an answer when the service stops', async () => {
    const before = gateway.journal().length;
    const answer = gateway.call('POST', '/pipeline/held', { payload: { gate: 'never' } });
    await until('it runs', () => gateway.journal().length > before);
    const ended = gateway.term();
    const { status, body } = await answer;
    expect(status).toBe(202);
    expect(body).toMatchObject({ status: 'running', job_id: expect.any(String) });
    expect(await ended).toEqual({ status: 0, signal: null });
  });
});

test('a wrong configuration ends with 78, and says everything that is wrong and where', async () => {
  const { status, said } = await refusedStart({
    plugins: { echo },
    service: { max_workers: 'many', log_levle: 'info' },
    pipelines: [{ name: 'p', on: 'p', steps: [{ uses: 'ecko' }] }],
  });
  expect(status).toBe(78);
  const [what, ...lines] = said.trim().split('\n');
  expect(what).toBe('the configuration is invalid');
  expect(lines.every(line => /^\S+config\.yaml:\d+:\d+: /.test(line))).toBe(true);
  expect(said).toMatch(/service\.max_workers: /);
  expect(said).toMatch(/log_levle.*did you mean "log_level"/);
  expect(said).toMatch(/pipelines\[0\]\.steps\[0\]\.uses: .*ecko.*did you mean "echo"/);
});

describe('within its bounds', () => {
  const gateway = shareGateway({
    plugins: { worker, echo },
    service: { max_queue_depth: 3 },
    state: { retention: { max_jobs: 20, jobs: '30d' } },
  });

  test('past max_queue_depth new work gets 503 with Retry-After, until there is room', async () => {
    const ids = await Promise.all([1, 2, 3].map(() => gateway.submit('worker/handle', { gate: 'all' })));
    const { status, headers, body } = await gateway.call('POST', '/plugin/worker/handle');
    expect([status, body['code']]).toEqual([503, 'queue_full']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    gateway.open('all');
    for (const id of ids) await gateway.settled(id);
    expect(await gateway.finished('worker/handle')).toMatchObject({ status: 'succeeded' });
  });

  test('whatever is offered at once, each call is taken and its job ends, or it gets 503 with Retry-After', async () => {
    const offered = Array.from({ length: 60 }, () =>
      gateway.call('POST', '/plugin/worker/handle', { payload: { gate: 'flood' } }),
    );
    const answers = await Promise.all(offered);
    const taken = answers.filter(({ status }) => status === 202);
    expect(taken).toHaveLength(3);
    for (const { status, headers, body } of answers.filter(answer => !taken.includes(answer))) {
      expect([status, body['code']]).toEqual([503, 'queue_full']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    gateway.open('flood');
    for (const { body } of taken) {
      expect(await gateway.settled(String(body['job_id']))).toMatchObject({ status: 'succeeded' });
    }
  });

  test('retention keeps no more settled jobs than max_jobs, and never drops an open one', async () => {
    const open = await gateway.submit('worker/handle', { gate: 'later' });
    const ids: string[] = [];
    for (let i = 0; i < 40; i++) ids.push((await gateway.finished('echo/handle')).job_id);
    const kept = async () => Number((await gateway.call('GET', '/jobs?plugin=echo')).body['total']);
    await until('old jobs are gone', async () => (await kept()) <= 20);
    expect((await gateway.call('GET', `/job/${ids[0]}`)).status).toBe(404);
    expect((await gateway.call('GET', `/job/${ids.at(-1)}`)).status).toBe(200);
    gateway.open('later');
    expect(await gateway.settled(open)).toMatchObject({ status: 'succeeded' });
  });

  test('SIGINT is a graceful stop too, and a second one changes nothing', async () => {
    const id = await gateway.submit('worker/handle', { gate: 'interrupted' });
    await gateway.noted('start', id);
    const state = async () => (await gateway.call('GET', '/healthz')).body['status'];
    gateway.signal('SIGINT');
    await until('the service stops', async () => (await state()) === 'stopping');
    gateway.signal('SIGINT');
    expect(await state()).toBe('stopping');
    gateway.open('interrupted');
    expect(await gateway.ended).toEqual({ status: 0, signal: null });
    expect(gateway.log.filter(({ msg }) => msg === 'stopping' || msg === 'stopped')).toMatchObject([
      { level: 30, msg: 'stopping', signal: 'SIGINT', running: 1, graceMs: 30_000 },
      { level: 30, msg: 'stopped' },
    ]);
    await gateway.start();
    expect(await gateway.job(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  });
});
