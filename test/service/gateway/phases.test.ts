// What follows the steps of a run (docs/pipelines.md#phases), the deadlines of runs, and the limits of steps, run by the real service.
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { blocksOf } from '../../feature/kit/page.ts';
import { type Job, shareGateway } from './gateway.ts';
import { echo, failing, step, worker } from './sources.ts';
import { until } from './until.ts';

const uses = (id: string, more: object = {}) => ({ id, uses: 'step', ...more });
const patiently = uses('each', { foreach: 'payload.list', fail_fast: false });
const tell = { id: 'tell', uses: 'echo' };
const clean = { id: 'clean', uses: 'echo' };
/** A step whose job runs until the test opens the gate that the payload of the run names. */
const held = (id: string, more: object = {}) => ({ id, uses: 'worker', ...more });
const heldClean = { id: 'clean', uses: 'worker', with: { gate: '{payload.run.payload.last}' } };

/** The example of docs/pipelines.md. */
const example = blocksOf(new URL('../../../docs/pipelines.md', import.meta.url)).find(({ name }) => name === 'import')!;
const fetcher = `
export const handle = ({ event: { payload: { item } } }) =>
  item === 'gone' ? { status: 'error', error: 'no such page', retry: false } : { result: item };
`;

const gateway = shareGateway({
  service: { max_workers: 4 },
  plugins: { echo, failing, step, worker, fetcher },
  instances: {
    failing: { retry: { max_attempts: 4, backoff_base: '24h', backoff_max: '24h' } },
    single: { uses: 'worker', parallelism: 1 },
    loader: { uses: 'echo' },
    mailer: { uses: 'echo' },
    cleaner: { uses: 'echo' },
  },
  pipelines: [
    parse(example.text),
    {
      name: 'limited',
      steps: [{ id: 'a', uses: 'failing', retry: { max_attempts: 3, backoff_base: '1ms', backoff_max: '2ms' } }],
    },
    { name: 'quick', steps: [held('a', { timeout: '150ms', retry: { max_attempts: 1 } })] },
    {
      name: 'whole',
      steps: [uses('each', { foreach: 'payload.list' })],
      on_failure: [tell],
      finally: [clean],
    },
    { name: 'patient', steps: [patiently, uses('all', { join: 'all' })] },
    { name: 'listless', steps: [patiently, uses('more', { foreach: 'payload.list' })] },
    { name: 'gated', steps: [held('work')], on_failure: [tell], finally: [clean] },
    { name: 'held_end', steps: [held('work')], finally: [heldClean] },
    { name: 'waiting', steps: [{ id: 'work', uses: 'single' }], finally: [clean] },
    { name: 'late', deadline: '300ms', steps: [held('work')], on_failure: [tell], finally: [clean] },
    { name: 'broken_end', steps: [uses('work')], finally: [uses('clean', { with: { fail: 'no broom' } })] },
    { name: 'long_end', steps: [uses('work')], finally: [heldClean] },
    { name: 'bound_end', deadline: '1h', steps: [uses('work')], finally: [heldClean] },
    {
      name: 'spared',
      steps: [held('work')],
      finally: [
        { id: 'clean', uses: 'single' },
        { id: 'calls', call: 'patient', with: { list: [{}, {}] } },
        { id: 'again', uses: 'failing', with: { times: 1 }, retry: { backoff_base: '1ms', backoff_max: '2ms' } },
      ],
    },
    {
      name: 'long_failure',
      steps: [uses('work', { with: { fail: 'as asked' } })],
      on_failure: [{ id: 'tell', uses: 'worker', with: { gate: '{payload.run.payload.last}' } }],
      finally: [clean],
    },
    {
      name: 'slow_end',
      phase_timeout: '200ms',
      steps: [uses('work')],
      finally: [{ id: 'clean', uses: 'worker', with: { gate: 'never' } }],
    },
    { name: 'impatient', steps: [{ id: 'calls', call: 'gated', timeout: '2s', with: { gate: 'never' } }] },
    {
      name: 'fan_end',
      steps: [uses('work')],
      finally: [uses('each', { foreach: 'payload.run.payload.list' }), uses('all', { join: 'all' })],
    },
  ],
});

type Detail = { readonly [key: string]: unknown };

async function detail(id: string): Promise<Detail> {
  return (await gateway.call('GET', `/job/${id}`)).body;
}

/** The jobs of the run by step, each with its status and phase. */
async function stepsOf(run: string): Promise<{ readonly [step: string]: readonly string[] }> {
  const found: { [step: string]: string[] } = {};
  for (const job of await gateway.tree(run)) {
    if (job.job_id === run) continue;
    const { step_id: step, phase = 'steps' } = await detail(job.job_id);
    found[String(step)] = [...(found[String(step)] ?? []), `${phase} ${job.status}`];
  }
  return found;
}

/** The job of this step of the run; waits for it. */
function jobOf(run: string, step: string): Promise<Job> {
  return until(`a job of the step ${step}`, async () => {
    for (const job of await gateway.tree(run)) if ((await detail(job.job_id))['step_id'] === step) return job;
    return null;
  });
}

async function cancel(id: string, query = '', more: object = {}) {
  const { status, body } = await gateway.call('POST', `/job/${id}/cancel${query}`, { reason: 'enough', ...more });
  return [status, body['code'] ?? body['status']];
}

/** The run, once the job of this step has started. */
async function startedIn(
  pipeline: string,
  step: string,
  payload: object,
): Promise<readonly [run: string, job: string]> {
  const run = await gateway.run(pipeline, payload);
  const { job_id: job } = await jobOf(run, step);
  await gateway.noted('start', job);
  return [run, job];
}

/** An ended run that has started a job of this step. On a busy machine, the deadline of a run may pass before; then another run is made. */
function startedInTime(pipeline: string, step: string, payload: object = {}): Promise<Job> {
  return until(`a run of ${pipeline} starts ${step} in time`, async () => {
    const run = await gateway.ran(pipeline, payload);
    const jobs = await Promise.all((await gateway.tree(run.job_id)).map(({ job_id }) => detail(job_id)));
    return jobs.some(job => job['step_id'] === step && Number(job['attempt']) > 0) && run;
  });
}

test('`retry` of a step replaces the retry policy of its plugin', async () => {
  const run = await gateway.ran('limited', { times: 9 });
  const { job_id: job } = await jobOf(run.job_id, 'a');
  expect(await gateway.job(job)).toMatchObject({ status: 'dead', attempt: 3 });
  expect(run.status).toBe('failed');
  const lucky = await gateway.ran('limited', { times: 2 });
  expect(lucky.status).toBe('succeeded');
});

test('`timeout` of a step limits its attempts, and no others of the command', async () => {
  const other = await gateway.submit('worker/handle', { gate: 'beside' });
  const run = await gateway.ran('quick', { gate: 'never' });
  expect(await gateway.job((await jobOf(run.job_id, 'a')).job_id)).toMatchObject({
    status: 'timed_out',
    last_error: 'timed out after 150 ms',
  });
  gateway.open('beside');
  expect((await gateway.settled(other)).status).toBe('succeeded');
});

test('with `fail_fast: false` all elements end before the run fails, and the join does not run', async () => {
  const list = [{ fail: 'first' }, {}, { fail: 'third' }, {}];
  const run = await gateway.ran('patient', { list });
  const steps = await stepsOf(run.job_id);
  expect(steps['each']!.toSorted()).toEqual(['steps failed', 'steps failed', 'steps succeeded', 'steps succeeded']);
  expect(steps['all']).toBeUndefined();
  expect(run).toMatchObject({
    status: 'failed',
    last_error: expect.stringMatching(/^step "each": step\.handle failed/),
  });
});

test('so they do if the list of a further `foreach` is missing for one of them', async () => {
  const run = await gateway.ran('listless', { list: [{ result: {} }, { result: { list: [{}, {}] }, wait: 200 }] });
  const { more } = await stepsOf(run.job_id);
  expect(more).toEqual(['steps succeeded', 'steps succeeded']);
  expect(run).toMatchObject({ status: 'failed', last_error: 'step "more": foreach: payload.list is missing' });
});

test('a run that fails goes through on_failure and finally, which are told how it went', async () => {
  const list = [{ fail: 'first' }, {}];
  const run = await gateway.ran('whole', { list });
  expect(run.status).toBe('failed');
  expect(await stepsOf(run.job_id)).toEqual({
    each: ['steps failed', 'steps succeeded'],
    tell: ['on_failure succeeded'],
    clean: ['finally succeeded'],
  });
  const failed = (await gateway.tree(run.job_id)).find(job => job.status === 'failed' && job.job_id !== run.job_id)!;
  const told = {
    run: { job_id: run.job_id, pipeline: 'whole', payload: { list } },
    status: 'failed',
    error: run.last_error,
    failed: [{ job_id: failed.job_id, step_id: 'each', status: 'failed', error: 'first' }],
    counts: { succeeded: 1, failed: 1, timed_out: 0, dead: 0, cancelled: 0 },
  };
  expect((await gateway.job((await jobOf(run.job_id, 'tell')).job_id)).result!.result).toEqual(told);
  expect((await gateway.job((await jobOf(run.job_id, 'clean')).job_id)).result!.result).toEqual(told);
});

test('the example of the page fetches all pages, reports the failure, and cleans', async () => {
  const run = await gateway.ran('import', { pages: ['gone', 'first', 'second'] });
  expect((await stepsOf(run.job_id))['fetch']!.toSorted()).toEqual([
    'steps failed',
    'steps succeeded',
    'steps succeeded',
  ]);
  const mail = await gateway.job((await jobOf(run.job_id, 'tell')).job_id);
  expect(mail.result!.result).toMatchObject({
    text: expect.stringMatching(/^import failed: step "fetch": .*: no such page$/),
  });
  expect((await stepsOf(run.job_id))['clean']).toEqual(['finally succeeded']);
  const fine = await gateway.ran('import', { pages: ['first'] });
  expect([fine.status, Object.keys(await stepsOf(fine.job_id))]).toEqual(['succeeded', ['fetch', 'load', 'clean']]);
});

test('a run that succeeds keeps its result, and goes through finally alone', async () => {
  const run = await gateway.ran('whole', { list: [{ result: 'a' }, { result: 'b' }] });
  expect(run).toMatchObject({ status: 'succeeded', result: { result: ['a', 'b'] } });
  expect(await stepsOf(run.job_id)).toEqual({
    each: ['steps succeeded', 'steps succeeded'],
    clean: ['finally succeeded'],
  });
});

test('a phase may fan out and join', async () => {
  const run = await gateway.ran('fan_end', { list: [{}, {}] });
  expect(run.status).toBe('succeeded');
  expect(await stepsOf(run.job_id)).toEqual({
    work: ['steps succeeded'],
    each: ['finally succeeded', 'finally succeeded'],
    all: ['finally succeeded'],
  });
});

test('a cancelled run goes through finally, and ends cancelled; a repeated cancel changes nothing', async () => {
  const [run] = await startedIn('held_end', 'work', { gate: 'never', last: 'later' });
  expect(await cancel(run)).toEqual([202, 'running']);
  await gateway.noted('start', (await jobOf(run, 'clean')).job_id);
  expect(await cancel(run)).toEqual([202, 'running']);
  expect(await cancel(run, '', { detached: true })).toEqual([409, 'ending']);
  gateway.open('later');
  const { status, last_error } = await gateway.settled(run);
  expect([status, last_error]).toEqual(['cancelled', 'cancelled by api:test: enough']);
  expect(await stepsOf(run)).toEqual({ work: ['steps cancelled'], clean: ['finally succeeded'] });
});

test('a run of which no job has started ends without phases', async () => {
  onTestFinished(() => gateway.open('occupied'));
  const occupier = await gateway.submit('single/handle', { gate: 'occupied' });
  await gateway.noted('start', occupier);
  const run = await gateway.run('waiting');
  await jobOf(run, 'work');
  expect(await cancel(run)).toEqual([202, 'running']);
  expect((await gateway.settled(run)).status).toBe('cancelled');
  expect(await stepsOf(run)).toEqual({ work: ['steps cancelled'] });
});

test('at its deadline a run is stopped, and its phases follow', async () => {
  const run = await startedInTime('late', 'work', { gate: 'never' });
  const error = 'the run did not end within its deadline of 300ms';
  expect(run).toMatchObject({ status: 'timed_out', last_error: error });
  expect(await stepsOf(run.job_id)).toEqual({
    work: ['steps timed_out'],
    tell: ['on_failure succeeded'],
    clean: ['finally succeeded'],
  });
  const told = (await gateway.job((await jobOf(run.job_id, 'clean')).job_id)).result!.result;
  expect(told).toMatchObject({ status: 'timed_out', error, counts: { timed_out: 1 } });
});

test('the failure of a phase does not change the status of the run', async () => {
  const fine = await gateway.ran('broken_end');
  const failure = /^finally: step "clean": step\.handle failed \(.*\): no broom$/;
  expect(fine).toMatchObject({ status: 'succeeded', phase_error: expect.stringMatching(failure) });
  expect(fine.last_error).toBeUndefined();
  const broken = await gateway.ran('broken_end', { fail: 'as asked' });
  expect(broken.status).toBe('failed');
  expect(broken.last_error).toMatch(/as asked; finally: step "clean": .*no broom$/);
});

test('a run in finally is cancelled only by force', async () => {
  const [run, clean] = await startedIn('long_end', 'clean', { last: 'never' });
  expect(await cancel(run)).toEqual([409, 'ending']);
  // The job may or may not have stopped when the answer is sent.
  expect([
    [202, 'running'],
    [200, 'cancelled'],
  ]).toContainEqual(await cancel(run, '?force=true'));
  const last_error = 'finally: cancelled by api:test: enough';
  expect(await gateway.settled(run)).toMatchObject({ status: 'cancelled', last_error });
  expect((await gateway.job(clean)).status).toBe('cancelled');
});

test('a cancel during on_failure ends that phase, and finally follows', async () => {
  const [run, telling] = await startedIn('long_failure', 'tell', { last: 'never' });
  expect(await cancel(run)).toEqual([202, 'running']);
  const ended = await gateway.settled(run);
  expect(ended.status).toBe('cancelled');
  expect(ended.last_error).toMatch(/^on_failure: cancelled by api:test: enough; before that: step "work": .*as asked$/);
  expect((await gateway.job(telling)).status).toBe('cancelled');
  expect((await stepsOf(run))['clean']).toEqual(['finally succeeded']);
});

test('a phase that takes longer than phase_timeout is stopped', async () => {
  const run = await startedInTime('slow_end', 'clean');
  expect(run).toMatchObject({ status: 'succeeded', phase_error: 'finally: took longer than 200ms' });
  expect((await stepsOf(run.job_id))['clean']).toEqual(['finally timed_out']);
});

test('`timeout` of a call cancels the called run, whose phases follow', async () => {
  const run = await startedInTime('impatient', 'work');
  const called = await jobOf(run.job_id, 'calls');
  expect(await gateway.job(called.job_id)).toMatchObject({
    status: 'cancelled',
    cancel: { by: 'timeout', reason: 'the run took longer than 2s, the timeout of the step that called it' },
  });
  expect(await stepsOf(called.job_id)).toEqual({ work: ['steps cancelled'], clean: ['finally succeeded'] });
  expect(run.status).toBe('failed');
});

test('a job of a phase cannot be run again', async () => {
  const run = await gateway.ran('whole', { list: [] });
  const again = await gateway.ran('whole', { list: [{}] });
  expect(await stepsOf(run.job_id)).toEqual({});
  const { job_id: job } = await jobOf(again.job_id, 'clean');
  const { status, body } = await gateway.call('POST', `/job/${job}/rerun`, {});
  expect([status, body['code']]).toEqual([400, 'invalid_request']);
});

test('an action that reruns leaves out the jobs of phases', async () => {
  const run = await gateway.ran('whole', { list: [{ fail: 'first' }] });
  const inside = { run: run.job_id, children: true };
  const count = async (body: object) => (await gateway.call('POST', '/actions', { ...body, dry_run: true })).body;
  expect(await count({ do: 'rerun', where: inside })).toMatchObject({
    matched: 1,
    sample: [(await jobOf(run.job_id, 'each')).job_id],
  });
  expect(await count({ do: 'cancel', where: inside })).toMatchObject({ matched: 3 });
  const { body } = await gateway.call('POST', '/actions', { do: 'rerun', where: inside });
  const action = await gateway.settled(String(body['action_id']));
  expect(action.result!.result).toEqual({ matched: 1, done: 1, skipped: {}, failed: 0 });
});

test('the document of a run says when its steps are stopped, also in its phases and after its end', async () => {
  const [run] = await startedIn('bound_end', 'clean', { last: 'bound' });
  const { created_at: created, deadline_at: deadline } = await detail(run);
  expect(Date.parse(String(deadline)) - Date.parse(String(created))).toBe(3_600_000);
  gateway.open('bound');
  expect(await gateway.settled(run)).toMatchObject({ status: 'succeeded', deadline_at: deadline });
});

test('a pause of the service does not hold the phases of a cancelled run, nor the runs that they call', async () => {
  const occupier = await gateway.submit('single/handle', { gate: 'before the pause' });
  await gateway.noted('start', occupier);
  const [run] = await startedIn('spared', 'work', { gate: 'never' });
  await cancel(run);
  // This job waits in its lane when the pause begins.
  const { job_id: waiting } = await jobOf(run, 'clean');
  onTestFinished(async () => {
    await gateway.call('POST', '/control/system/resume');
  });
  expect((await gateway.call('POST', '/control/system/pause')).status).toBe(200);
  const held = await gateway.submit('echo/say');
  await gateway.waiting(waiting, 'worker');
  await gateway.waiting(run, 'children');
  gateway.open('before the pause');
  expect((await gateway.settled(run)).status).toBe('cancelled');
  expect(await stepsOf(run)).toEqual({
    work: ['steps cancelled'],
    clean: ['finally succeeded'],
    calls: ['finally succeeded'],
    again: ['finally succeeded'],
    // Jobs of the run that `calls` has called.
    each: ['steps succeeded', 'steps succeeded'],
    all: ['steps succeeded'],
  });
  await gateway.waiting(held, 'paused');
  await gateway.call('POST', '/control/system/resume');
  expect((await gateway.settled(held)).status).toBe('succeeded');
});

test('a rerun from failed runs the phases of its own part again', async () => {
  const run = await gateway.ran('whole', { list: [{ fail: 'first' }, {}] });
  const { body } = await gateway.call('POST', `/job/${run.job_id}/rerun`, { from: 'failed' });
  const again = await gateway.settled(String(body['job_id']));
  expect(again.status).toBe('failed');
  const own = (await gateway.tree(again.job_id)).filter(job => !('reused' in job) && job.job_id !== again.job_id);
  expect(await Promise.all(own.map(async job => (await detail(job.job_id))['step_id']))).toEqual([
    'each',
    'tell',
    'clean',
  ]);
});

test('a run that is killed in finally goes on there', async () => {
  const [run, job] = await startedIn('long_end', 'clean', { last: 'after the kill' });
  await gateway.restart();
  gateway.open('after the kill');
  expect((await gateway.settled(run)).status).toBe('succeeded');
  expect(await stepsOf(run)).toEqual({ work: ['steps succeeded'], clean: ['finally succeeded'] });
  expect((await jobOf(run, 'clean')).job_id).toBe(job);
});
