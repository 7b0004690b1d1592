// The life of a job (docs/contract.md#statuses): every move, seen from outside.
import { expect, test } from 'vitest';
import { shareGateway } from './gateway.ts';
import { echo, failing, journal, worker } from './sources.ts';
import { until } from './until.ts';

const quick = { backoff_base: '5ms', backoff_max: '10ms' };
const looping = `
export const handle = () => { for (;;); };
export const careful = () => { for (;;); };
export const waiting = () => new Promise(() => {});
`;
const throwing = `${journal}
export function handle(request) {
  note(request, 'start');
  throw Object.assign(new Error('thrown: ' + request.event.payload.retry), request.event.payload);
}
`;

const gateway = shareGateway({
  service: { max_workers: 3 },
  plugins: {
    echo,
    worker,
    failing,
    throwing,
    looping: { code: looping, commands: { careful: { retry_safe: false } } },
    fragile: { code: failing, commands: { handle: { retry_safe: false } } },
    showing: 'export const handle = request => ({ result: { ...request, now: Date.now() } });',
  },
  instances: {
    single: { uses: 'worker', parallelism: 1 },
    failing: { retry: quick },
    throwing: { retry: quick },
    once: { uses: 'failing', retry: { max_attempts: 1 } },
    patient: { uses: 'failing', retry: { backoff_base: '24h', backoff_max: '24h' } },
    looping: { timeouts: { handle: '80ms', careful: '80ms', waiting: '80ms' }, retry: { max_attempts: 2, ...quick } },
    looping_once: { uses: 'looping', timeouts: { handle: '80ms' }, retry: { max_attempts: 1 } },
    showing: { config: { colour: 'red' }, timeouts: { handle: '1h' } },
  },
});

test('a direct call is answered with 202, and enqueues exactly one job', async () => {
  const { status, body } = await gateway.call('POST', '/plugin/echo/say', { payload: { a: 1 } });
  expect(status).toBe(202);
  expect(body).toEqual({ job_id: expect.any(String), status: 'queued', plugin: 'echo', command: 'say' });
  const job = await gateway.settled(String(body['job_id']));
  expect(job).toMatchObject({
    status: 'succeeded',
    attempt: 1,
    submitted_by: 'api:test',
    result: { result: { a: 1 } },
  });
  expect(await gateway.tree(job.job_id)).toHaveLength(1);
});

test('a job is queued until a worker takes it, then running, then succeeded', async () => {
  const first = await gateway.submit('single/handle', { gate: 'first' });
  const second = await gateway.submit('single/handle', { gate: 'second' });
  await gateway.noted('start', first);
  expect(await gateway.job(first)).toMatchObject({ status: 'running', completed_at: null, result: null });
  expect(await gateway.job(second)).toMatchObject({ status: 'queued', started_at: null, completed_at: null });
  gateway.open('first');
  await gateway.noted('start', second);
  expect(await gateway.job(first)).toMatchObject({ status: 'succeeded' });
  gateway.open('second');
  expect(await gateway.settled(second)).toMatchObject({ status: 'succeeded' });
});

test('times of a job follow one another', async () => {
  const { created_at, started_at, completed_at } = await gateway.finished('echo/handle');
  const times = [created_at, started_at, completed_at].map(time => Date.parse(time!));
  expect(times).toEqual([...times].sort((a, b) => a - b));
});

test('a retryable failure is queued again, until it succeeds', async () => {
  const job = await gateway.finished('failing/handle', { times: 2 });
  expect(job).toMatchObject({ status: 'succeeded', attempt: 3, result: { status: 'ok', result: { attempt: 3 } } });
  expect(gateway.notesOf(job.job_id).map(note => note.attempt)).toEqual([1, 2, 3]);
});

test('a job is dead once every attempt is used, and says why', async () => {
  const job = await gateway.finished('failing/handle', { message: 'no luck' });
  expect(job).toMatchObject({ status: 'dead', attempt: 4, last_error: 'no luck' });
  expect(gateway.notesOf(job.job_id)).toHaveLength(4);
});

test('a job that waits for its next attempt is queued, and shows its last error', async () => {
  const id = await gateway.submit('patient/handle', { message: 'not yet' });
  await until('the first attempt is over', async () => (await gateway.job(id)).last_error);
  expect(await gateway.job(id)).toMatchObject({
    status: 'queued',
    attempt: 1,
    last_error: 'not yet',
    completed_at: null,
  });
});

test('a permanent failure is failed at once', async () => {
  const job = await gateway.finished('failing/handle', { retry: false, message: 'never' });
  expect(job).toMatchObject({ status: 'failed', attempt: 1, last_error: 'never', result: { status: 'error' } });
});

test('a failure is failed at once where max_attempts is 1', async () => {
  expect(await gateway.finished('once/handle')).toMatchObject({ status: 'failed', attempt: 1 });
});

test('a failure is failed at once where the command is not retry_safe', async () => {
  expect(await gateway.finished('fragile/handle')).toMatchObject({ status: 'failed', attempt: 1 });
});

test('an exception is a retryable failure', async () => {
  const job = await gateway.finished('throwing/handle', {});
  expect(job).toMatchObject({ status: 'dead', attempt: 4, last_error: expect.stringContaining('thrown: undefined') });
});

test('an exception whose retry is false is permanent', async () => {
  const job = await gateway.finished('throwing/handle', { retry: false });
  expect(job).toMatchObject({ status: 'failed', attempt: 1, last_error: expect.stringContaining('thrown: false') });
});

test('a job past its deadline is retried, and dead once every attempt is used', async () => {
  const job = await gateway.finished('looping/handle');
  expect(job).toMatchObject({ status: 'dead', attempt: 2, last_error: expect.stringContaining('80') });
});

test('a job past its deadline is timed out where retries are switched off', async () => {
  expect(await gateway.finished('looping_once/handle')).toMatchObject({ status: 'timed_out', attempt: 1 });
  expect(await gateway.finished('looping/careful')).toMatchObject({ status: 'timed_out', attempt: 1 });
});

test('a handler that waits for ever is past its deadline like one that loops', async () => {
  expect(await gateway.finished('looping/waiting')).toMatchObject({ status: 'dead', attempt: 2 });
});

test('the request of handle carries the envelope, the config and the deadline', async () => {
  const job = await gateway.finished('showing/handle', { a: 1 });
  const request = job.result!.result as { [field: string]: never };
  const event = {
    type: 'api.trigger',
    payload: { a: 1 },
    event_id: job.job_id,
    source: 'api',
    timestamp: expect.any(String),
  };
  expect(request).toMatchObject({ protocol: 2, job_id: job.job_id, attempt: 1, command: 'handle', state: {} });
  expect(request).toMatchObject({ config: { colour: 'red' }, event, payload: event, context: { depth: 1 } });
  const leftMs = Date.parse(request['deadline_at']!) - (request['now']! as number);
  expect(leftMs).toBeGreaterThan(3_500_000);
  expect(leftMs).toBeLessThanOrEqual(3_600_000);
});
