// POST /job/{job_id}/rerun: a job that has ended runs again as a new job, and the old one stays as it is.
import { expect, test } from 'vitest';
import { canary } from '../canary/canary.ts';
import { everythingToken } from './configuration.ts';
import { type Answer, type CallOptions, type Job, shareGateway } from './gateway.ts';
import { echo, failing, journal, step, worker } from './sources.ts';

const scopes = {
  control: ['jobs:rw'],
  runs: ['plugin:rw'],
  reads: ['jobs:rw', 'plugin:ro'],
} as const;
const tokens = { control: canary('control'), runs: canary('runs'), reads: canary('reads') };
/** Fails until its gate is open. */
const repaired = `${journal}
export async function handle(request) {
  note(request, 'start');
  const { payload } = request.event;
  return existsSync(home + '/gate-' + (payload.gate ?? payload.payload.gate))
    ? { result: { event: request.event, context: request.context } }
    : { status: 'error', error: 'not yet', retry: false };
}
`;
const strict = {
  code: 'export const run = ({ payload }) => ({ result: payload });',
  commands: { run: { input_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } } },
};
const settings = {
  plugins: { echo, failing, worker, step, repaired, strict },
  pipelines: [
    {
      name: 'two',
      steps: [
        { id: 'first', uses: 'step', baggage: { from: 'payload.who' } },
        { id: 'second', uses: 'repaired' },
      ],
    },
  ],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        ...(['control', 'runs', 'reads'] as const).map(name => ({
          name,
          token: tokens[name],
          scopes: [...scopes[name]],
        })),
      ],
    },
  },
};
const gateway = shareGateway(settings);

function rerun(id: string, body?: object, options?: CallOptions): Promise<Answer> {
  return gateway.call('POST', `/job/${id}/rerun`, body, options);
}

async function ranAgain(id: string, body?: object): Promise<Job> {
  const { status, body: answer } = await rerun(id, body);
  expect([status, answer['rerun_of']]).toEqual([202, id]);
  return gateway.settled(String(answer['job_id']));
}

type Rerun = Job & { readonly rerun_of?: string; readonly reruns?: readonly string[]; readonly rerun_count?: number };

test('the new job has the payload of the old one; each names the other, also after a crash', async () => {
  const old = await gateway.finished('repaired/handle', { gate: 'provider' });
  expect(old.status).toBe('failed');
  gateway.open('provider');
  const first = await ranAgain(old.job_id, { reason: 'the provider is back' });
  const second = await ranAgain(first.job_id);
  const third = await ranAgain(old.job_id);
  expect(first).toMatchObject({
    ...{ status: 'succeeded', attempt: 1, parent_job_id: null, submitted_by: 'api:test' },
    ...{ rerun_of: old.job_id, rerun_from: 'start', rerun_reason: 'the provider is back' },
  });
  await gateway.restart();
  const { reruns, rerun_count: count, ...rest } = (await gateway.job(old.job_id)) as Rerun;
  expect([reruns, count]).toEqual([[third.job_id, first.job_id], 2]);
  expect(rest).toEqual(old);
  expect(await gateway.job(first.job_id)).toMatchObject({ reruns: [second.job_id], rerun_count: 1 });
  expect(await gateway.job(third.job_id)).not.toHaveProperty('reruns');
  expect(gateway.notesOf(old.job_id)).toHaveLength(1);
});

test('another payload takes the place of the old one, and must fit the schema of the command', async () => {
  const old = await gateway.finished('strict/run', { n: 1 });
  expect((await ranAgain(old.job_id, { payload: { n: 2 } })).result).toMatchObject({ result: { n: 2 } });
  const { status, body } = await rerun(old.job_id, { payload: { n: 'two' } });
  expect([status, body['code'], body['detail']]).toEqual([
    400,
    'invalid_payload',
    expect.stringContaining('/payload/n'),
  ]);
});

test('a job of a run is run again by itself, with its event and context', async () => {
  const run = await gateway.ran('two', { who: 'Ada', gate: 'child' });
  const [, , second] = await gateway.tree(run.job_id);
  expect([run.status, second!.status]).toEqual(['failed', 'failed']);
  gateway.open('child');
  const again = await ranAgain(second!.job_id);
  const { event, context } = again.result!.result as { event: { type: string }; context: object };
  expect(event.type).toBe('step.handle.result');
  expect(context).toMatchObject({ from: 'Ada' });
  expect(again).toMatchObject({ status: 'succeeded', parent_job_id: null, run_id: null, pipeline: null });
  expect((await gateway.job(run.job_id)).status).toBe('failed');
  expect(await gateway.tree(run.job_id)).toHaveLength(3);
});

test('a run begins again, by the definition that is configured now', async () => {
  const old = await gateway.ran('two', { who: 'Ada', gate: 'run' });
  gateway.open('run');
  const { pipelines: _, ...others } = settings;
  await gateway.reload({ ...others, pipelines: [{ name: 'two', steps: [{ id: 'only', uses: 'echo' }] }] });
  const again = await ranAgain(old.job_id);
  expect(again).toMatchObject({ status: 'succeeded', plugin: 'pipeline', command: 'two' });
  expect(again.result).toMatchObject({ result: { who: 'Ada', gate: 'run' } });
  expect(await gateway.tree(again.job_id)).toHaveLength(2);
  await gateway.reload({ ...others, pipelines: [] });
  const { status, body } = await rerun(old.job_id);
  expect([status, body['code']]).toEqual([404, 'unknown_pipeline']);
  await gateway.reload(settings);
});

test('a repeat with the same Idempotency-Key gets the same job', async () => {
  const old = await gateway.finished('echo/say', { n: 1 });
  const headers = { 'Idempotency-Key': 'once' };
  const [first, second] = [await rerun(old.job_id, {}, { headers }), await rerun(old.job_id, {}, { headers })];
  expect(second.body).toEqual(first.body);
  expect(await gateway.job(old.job_id)).toMatchObject({ rerun_count: 1 });
  const other = await gateway.finished('echo/say', { n: 1 });
  expect((await rerun(other.job_id, {}, { headers })).body['code']).toBe('idempotency_mismatch');
});

test('a job that has not ended is refused', async () => {
  const id = await gateway.submit('worker/handle', { gate: 'unsettled' });
  await gateway.noted('start', id);
  const { status, body } = await rerun(id);
  expect([status, body['code']]).toEqual([409, 'not_settled']);
  expect(body['detail']).toContain('is running: only a job that has ended can be run again');
  gateway.open('unsettled');
  await gateway.settled(id);
});

test.each([
  [{ reason: 7 }, '/reason'],
  [{ reason: 'x'.repeat(501) }, '/reason'],
  [{ payload: [] }, '/payload'],
  [{ from: 'end' }, '/from'],
  [{ from: 'failed', payload: {} }, '/payload'],
])('%j is refused with a pointer', async (given, pointer) => {
  const old = await gateway.finished('echo/say', {});
  const { status, body } = await rerun(old.job_id, given);
  expect([status, body['code']]).toEqual([400, 'invalid_request']);
  expect(body['detail']).toContain(pointer);
});

test('it needs the scope to control jobs, and one that may run the command', async () => {
  const old = await gateway.finished('echo/say', {});
  for (const name of ['control', 'runs', 'reads'] as const) {
    const { status, body } = await rerun(old.job_id, {}, { token: tokens[name] });
    expect([name, status, body['code']]).toEqual([name, 403, 'forbidden']);
  }
});

test('an unknown job, and one whose plugin is gone, are not found', async () => {
  const unknown = '018bcfe5-6800-7000-8000-0000ffffffff';
  expect((await rerun(unknown)).body['code']).toBe('unknown_job');
  const old = await gateway.finished('echo/say', {});
  const { echo: _, ...others } = settings.plugins;
  await gateway.reload({ ...settings, plugins: others });
  expect((await rerun(old.job_id)).body['code']).toBe('unknown_plugin');
  await gateway.reload(settings);
});
