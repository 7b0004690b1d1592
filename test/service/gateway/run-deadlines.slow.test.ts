// What the time limits of runs and of their phases do to jobs (docs/pipelines.md#times-and-phases): to those that run and those that wait,
// also in called runs.
import { expect, onTestFinished, test } from 'vitest';
import { openSource } from '../../feature/events/reader.ts';
import { startClocked } from './clock.ts';
import { type Job, shareGateway } from './gateway.ts';
import { echo, failing, journal, worker } from './sources.ts';
import { until } from './until.ts';

const waitingAtItsEnd = {
  steps: [{ id: 'work', uses: 'worker', with: { gate: 'never' } }],
  finally: [{ id: 'sweep', uses: 'single' }],
};

/** Waits for the gate of its payload. Its result says whether it was told to stop. */
const listener = `${journal}
export async function handle(request, { signal }) {
  note(request, 'start');
  await gate(request.event.payload.gate);
  return { result: { stopped: signal.aborted } };
}
`;

const gateway = shareGateway({
  plugins: { echo, failing, worker, listener },
  instances: { single: { uses: 'worker', parallelism: 1 } },
  pipelines: [
    {
      name: 'wide',
      deadline: '1s',
      steps: [
        { id: 'each', uses: 'single', foreach: 'payload.list', with: { gate: 'never' } },
        { id: 'all', uses: 'echo', join: 'all' },
      ],
      finally: [{ id: 'clean', uses: 'echo' }],
    },
    { name: 'inner', steps: [{ id: 'work', uses: 'worker' }], finally: [{ id: 'sweep', uses: 'echo' }] },
    { name: 'outer', deadline: '1s', steps: [{ id: 'calls', call: 'inner' }] },
    {
      name: 'telling',
      steps: [{ id: 'work', uses: 'failing' }],
      on_failure: [{ id: 'tell', uses: 'worker', with: { gate: 'never' } }],
      finally: [{ id: 'sweep', uses: 'echo' }],
    },
    {
      name: 'tidy',
      steps: [{ id: 'work', uses: 'echo' }],
      finally: [{ id: 'clean', uses: 'listener', with: { gate: 'tidied' } }],
    },
    { name: 'caller', steps: [{ id: 'calls', call: 'tidy' }] },
    { name: 'impatient', steps: [{ id: 'calls', call: 'telling', timeout: '2s' }] },
    { name: 'stuck', ...waitingAtItsEnd, phase_timeout: '300ms' },
    { name: 'patient', ...waitingAtItsEnd },
  ],
});

type Detail = Job & {
  readonly step_id: string | null;
  readonly counts?: { readonly [status: string]: number };
  readonly cancel?: { readonly by: string; readonly reason: string };
};

async function jobsIn(run: string): Promise<readonly Detail[]> {
  const inside = (await gateway.tree(run)).filter(({ job_id }) => job_id !== run);
  return Promise.all(inside.map(({ job_id }) => gateway.job(job_id) as Promise<Detail>));
}

/** An ended run that has started a job. On a busy machine, the deadline of a run may pass before; then another run is made. */
function startedInTime(pipeline: string, payload: object): Promise<Detail> {
  return until(`a run of ${pipeline} starts a job in time`, async () => {
    const run = (await gateway.ran(pipeline, payload)) as Detail;
    return (await jobsIn(run.job_id)).some(({ attempt, plugin }) => attempt > 0 && plugin !== 'pipeline') && run;
  });
}

test('jobs that run end timed_out, jobs that wait are cancelled, and no join runs', async () => {
  const { seen } = await openSource(gateway, '?types=pipeline.timed_out');
  const run = await startedInTime('wide', { list: [1, 2, 3] });
  expect(run).toMatchObject({
    status: 'timed_out',
    last_error: 'the run did not end within its deadline of 1s',
    counts: { succeeded: 1, failed: 0, timed_out: 1, dead: 0, cancelled: 2 },
  });
  const jobs = await jobsIn(run.job_id);
  const of = (step: string) => jobs.filter(({ step_id }) => step_id === step);
  expect(of('each').map(({ status, attempt }) => `${status} ${attempt}`)).toEqual([
    'timed_out 1',
    'cancelled 0',
    'cancelled 0',
  ]);
  expect(of('all')).toEqual([]);
  const [clean] = of('clean');
  const told = clean!.result!.result as { readonly failed: readonly { readonly status: string }[] };
  expect(told).toMatchObject({ status: 'timed_out', counts: { succeeded: 0, timed_out: 1, cancelled: 2 } });
  // `failed` lists jobs in the order of their ends, which varies.
  expect(told.failed.map(({ status }) => status).sort()).toEqual(['cancelled', 'cancelled', 'timed_out']);
  await until('the event of the run', () => seen.some(({ data }) => data['job_id'] === run.job_id));
});

test('a called run is stopped with its caller, and goes through its own finally', async () => {
  const run = await startedInTime('outer', { gate: 'never' });
  expect(run.status).toBe('timed_out');
  const jobs = await jobsIn(run.job_id);
  const inner = jobs.find(({ command }) => command === 'inner')!;
  expect(inner.status).toBe('timed_out');
  expect(jobs.filter(({ step_id }) => step_id === 'sweep')).toMatchObject([{ status: 'succeeded' }]);
});

test('a called run that is in finally is not stopped by a cancel of its caller', async () => {
  const run = await gateway.run('caller');
  const find = async () => (await jobsIn(run)).find(job => job.step_id === 'clean');
  const { job_id: cleaning } = await until('finally has begun', find);
  await gateway.noted('start', cleaning);
  expect((await gateway.call('POST', `/job/${run}/cancel`, {})).status).toBe(202);
  gateway.open('tidied');
  expect((await gateway.settled(run)).status).toBe('cancelled');
  expect(await gateway.job(cleaning)).toMatchObject({ status: 'succeeded', result: { result: { stopped: false } } });
});

test('`timeout` of a call also ends on_failure of the called run, and finally follows', async () => {
  const jobs = await until('on_failure has begun in time', async () => {
    const { job_id, status } = await gateway.ran('impatient', { retry: false });
    expect(status).toBe('failed');
    const inside = await jobsIn(job_id);
    return inside.some(({ step_id, attempt }) => step_id === 'tell' && attempt > 0) && inside;
  });
  const of = (step: string) => jobs.filter(({ step_id }) => step_id === step);
  expect(of('calls')).toMatchObject([{ status: 'cancelled', cancel: { by: 'timeout' } }]);
  expect(of('tell')).toMatchObject([{ status: 'cancelled', cancel: { by: 'timeout' } }]);
  expect(of('sweep')).toMatchObject([{ status: 'succeeded' }]);
});

test('a job that waits in finally shows the cancel that ended it, not that of the steps', async () => {
  onTestFinished(() => gateway.open('occupied'));
  await gateway.noted('start', await gateway.submit('single/handle', { gate: 'occupied' }));
  const cancel = (run: string, reason: string, query = '') =>
    gateway.call('POST', `/job/${run}/cancel${query}`, { reason });
  const cancelled = async (pipeline: string) => {
    const run = await gateway.run(pipeline);
    const [work] = await until('its job', async () => (await jobsIn(run)).filter(({ step_id }) => step_id === 'work'));
    await gateway.noted('start', work!.job_id);
    await cancel(run, 'enough');
    return run;
  };
  const cancelsOf = async (run: string) => {
    const { status } = await gateway.settled(run);
    const jobs = await jobsIn(run);
    return [status, ...jobs.map(({ step_id, status, cancel }) => [step_id, status, cancel?.reason])];
  };
  const work = ['work', 'cancelled', 'enough'];
  expect(await cancelsOf(await cancelled('stuck'))).toEqual(['cancelled', work, ['sweep', 'cancelled', undefined]]);
  const run = await cancelled('patient');
  await until('finally has begun', async () => (await jobsIn(run)).length === 2);
  await cancel(run, 'at once', '?force=true');
  const sweep = ['sweep', 'cancelled', 'at once'];
  expect(await cancelsOf(run)).toEqual(['cancelled', ['work', 'cancelled', 'at once'], sweep]);
});

test('the time of a phase does not run while the service is down or the run is paused', async () => {
  const settings = {
    plugins: { echo, worker },
    pipelines: [
      { name: 'swept', steps: [{ id: 'work', uses: 'worker' }], finally: [{ id: 'sweep', uses: 'worker' }] },
      {
        name: 'cleaned',
        steps: [{ id: 'work', uses: 'echo' }],
        finally: [{ id: 'clean', uses: 'worker', with: { gate: 'down' } }],
      },
    ],
  };
  const { gateway, clock } = await startClocked('2027-11-01T10:00:00Z', settings);
  const run = await gateway.run('cleaned');
  await until('finally has begun', () => gateway.journal().some(({ what }) => what === 'start'));
  await gateway.kill9();
  clock.set('2027-11-01T11:00:00Z');
  gateway.open('down');
  await gateway.start();
  expect(await gateway.settled(run)).toMatchObject({ status: 'succeeded' });
  expect(await gateway.job(run)).not.toHaveProperty('phase_error');

  const paused = await gateway.run('swept', { gate: 'work' });
  const work = await until('its job', async () => (await gateway.tree(paused)).find(({ job_id }) => job_id !== paused));
  await gateway.noted('start', work.job_id);
  await gateway.call('POST', '/control/pipeline/swept/pause');
  gateway.open('work');
  await gateway.settled(work.job_id);
  for (const time of ['12:00', '13:00']) {
    clock.set(`2027-11-01T${time}:00Z`);
    await gateway.finished('echo/say');
  }
  await gateway.call('POST', '/control/pipeline/swept/resume');
  expect(await gateway.settled(paused)).toMatchObject({ status: 'succeeded' });
  expect(await gateway.job(paused)).not.toHaveProperty('phase_error');
});
