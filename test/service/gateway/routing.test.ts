// Which events start what: triggers, hooks, dedupe keys and the end of loops.
import { expect, test } from 'vitest';
import { type Job, shareGateway } from './gateway.ts';
import { step } from './sources.ts';
import { until } from './until.ts';

const gateway = shareGateway({
  plugins: {
    step,
    hooked: step,
    noted: step,
    quiet: 'export const handle = () => ({});',
    ping: `export const handle = () => ({ events: [{ type: 'ball.pinged' }] });`,
    pong: `export const handle = () => ({ events: [{ type: 'ball.ponged' }] });`,
    looping: `export const handle = () => ({ events: [{ type: 'loop.again', payload: {} }] });`,
  },
  instances: { step: { retry: { max_attempts: 2, backoff_base: '2ms' } } },
  pipelines: [
    { name: 'listener', on: 'thing.made', steps: [{ id: 'listen', uses: 'noted' }] },
    { name: 'emitter', on: 'emitter', steps: [{ id: 'emit', uses: 'step' }] },
    {
      name: 'on_failure',
      on_hook: 'job.failed',
      if: { path: 'payload.plugin', op: 'eq', value: 'step' },
      steps: [{ id: 'hook', uses: 'hooked' }],
    },
    { name: 'loop', on: 'loop.again', steps: [{ id: 'again', uses: 'looping' }] },
    { name: 'there', on: 'ball.ponged', steps: [{ uses: 'ping' }] },
    { name: 'back', on: 'ball.pinged', steps: [{ uses: 'pong' }] },
    {
      name: 'picky',
      on: 'thing.made',
      if: { path: 'payload.n', op: 'gt', value: 10 },
      steps: [{ id: 'pick', uses: 'quiet' }],
    },
  ],
});

const made = (n: number, more: object = {}) => ({ type: 'thing.made', payload: { n }, ...more });

/** The runs below a job, once there are at least `count`, and all have ended. */
async function runsBelow(id: string, count: number): Promise<Job[]> {
  const runs = async () => (await gateway.tree(id)).filter(job => job.plugin === 'pipeline' && job.job_id !== id);
  await until(`${count} runs below ${id}`, async () => (await runs()).length >= count);
  await gateway.allSettled((await runs()).map(run => run.job_id));
  return runs();
}

test('an emitted event starts the pipelines that wait for its type, also from a direct call', async () => {
  const job = await gateway.finished('step/handle', { emit: [made(1), made(2)] });
  const runs = await runsBelow(job.job_id, 2);
  expect(runs.map(run => [run.command, run.parent_job_id])).toEqual([
    ['listener', job.job_id],
    ['listener', job.job_id],
  ]);
  const tree = await gateway.tree(job.job_id);
  expect(tree.filter(({ plugin }) => plugin === 'noted')).toHaveLength(2);
});

test('large output, which is deflated, is read, searched and routed as it was answered', async () => {
  const text = 'of this a lot; '.repeat(10_000);
  const emit = [made(1, { payload: { text } }), made(2)];
  const run = await gateway.ran('emitter', { emit, result: { text, word: 'unheardof' } });
  const [, job] = await gateway.tree(run.job_id);
  expect(job).toMatchObject({ plugin: 'step', result: { result: { text }, events: emit } });
  const runs = await runsBelow(run.job_id, 2);
  expect(runs.map(payloadOf)).toEqual([{ text }, { n: 2 }]);
  await until('it is found', async () => {
    const { body } = await gateway.call('GET', '/job-logs?query=unheardof');
    return JSON.stringify(body).includes(job!.job_id);
  });
});

test('a run that an event starts shows in the tree of the run that emitted it', async () => {
  const run = await gateway.ran('emitter', { emit: [made(1)] });
  expect(run.status).toBe('succeeded');
  await runsBelow(run.job_id, 1);
  expect((await gateway.tree(run.job_id)).map(job => job.plugin)).toEqual(['pipeline', 'step', 'pipeline', 'noted']);
});

test('events of a response that is an error start nothing', async () => {
  const job = await gateway.finished('step/handle', { emit: [made(1)], fail: 'after all' });
  expect(job).toMatchObject({ status: 'failed', result: { events: [{ type: 'thing.made' }] } });
  const tree = await gateway.tree(job.job_id);
  expect(tree.filter(({ command }) => command === 'listener')).toEqual([]);
});

test('a second event with the same dedupe_key starts nothing, and is no error', async () => {
  const emit = [made(1, { dedupe_key: 'once' }), made(2, { dedupe_key: 'once' }), made(3, { dedupe_key: 'other' })];
  const first = await gateway.finished('step/handle', { emit });
  expect(await runsBelow(first.job_id, 2)).toHaveLength(2);
  const second = await gateway.finished('step/handle', { emit });
  expect(second.status).toBe('succeeded');
  expect(await gateway.tree(second.job_id)).toHaveLength(1);
});

test('a hook fires once for a job that failed for good, with what happened', async () => {
  const job = await gateway.finished('step/handle', { fail: 'broken', retry: true });
  expect(job).toMatchObject({ status: 'dead', attempt: 2 });
  const hooks = () =>
    gateway.journal().filter(note => note.what === 'start' && (note as { step?: string }).step === 'hook');
  const mine = async () => {
    const jobs = await gateway.allSettled(hooks().map(note => note.job));
    return jobs.filter(hook => payloadOf(hook)['job_id'] === job.job_id);
  };
  await until('the hook runs', async () => (await mine()).length > 0);
  expect((await mine()).map(payloadOf)).toEqual([
    expect.objectContaining({ job_id: job.job_id, plugin: 'step', command: 'handle', status: 'dead', error: 'broken' }),
  ]);
});

function payloadOf(job: Job): { [key: string]: unknown } {
  return (job.result!.result as { payload: { [key: string]: unknown } }).payload;
}

test('an event chain that never ends is stopped after 64 jobs: the last one is dead, with the loop in its error', async () => {
  const id = await gateway.run('loop');
  const dead = async () => (await gateway.tree(id)).find(job => job.status === 'dead');
  const last = await until('the loop is stopped', dead);
  const jobs = (await gateway.tree(id)).filter(job => job.plugin === 'looping');
  expect(jobs.length).toBeGreaterThanOrEqual(64);
  expect(jobs.length).toBeLessThanOrEqual(65);
  expect((await gateway.job(last.job_id)).last_error).toBe(
    'stopped after 64 jobs in one chain of events; the loop: looping.handle → pipeline.loop → looping.handle',
  );
});

test('a loop over several pipelines is named whole', async () => {
  const id = await gateway.run('there');
  const last = await until('the loop is stopped', async () =>
    (await gateway.tree(id)).find(job => job.status === 'dead'),
  );
  const loop = 'ping.handle → pipeline.back → pong.handle → pipeline.there → ping.handle';
  expect((await gateway.job(last.job_id)).last_error).toBe(
    `stopped after 64 jobs in one chain of events; the loop: ${loop}`,
  );
});

test('an event that the condition of a pipeline refuses makes no run there, and leaves its dedupe_key to a later one', async () => {
  const emit = [3, 11, 12].map(n => made(n, { dedupe_key: 'picked' }));
  const job = await gateway.finished('step/handle', { emit });
  const runs = await runsBelow(job.job_id, 2);
  expect(runs.map(run => run.command).sort()).toEqual(['listener', 'picky']);
  expect(await gateway.tree(job.job_id)).toHaveLength(5);
});

test('a hook whose condition is false makes no run', async () => {
  const { body: before } = await gateway.call('GET', '/jobs?plugin=pipeline&command=on_failure');
  for (let n = 0; n < 3; n++) await gateway.finished('noted/handle', { fail: 'not the plugin that is asked for' });
  const { body: after } = await gateway.call('GET', '/jobs?plugin=pipeline&command=on_failure');
  expect(after['total']).toBe(before['total']);
});
