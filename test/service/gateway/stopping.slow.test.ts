// Cancels of jobs that run: their code is told, and stopped if that does not help, whatever it runs in (docs/engine.md#cancel).
import { expect, test } from 'vitest';
import { isAlive } from '../../../runtime/processes/identity.ts';
import { shareGateway } from './gateway.ts';
import { journal } from './sources.ts';
import { until } from './until.ts';

const threads = `${journal}
export async function heeding(request, { signal }) {
  note(request, 'start');
  await new Promise((_, reject) => signal.addEventListener('abort', () => {
    note(request, 'heard', { name: signal.reason.message });
    reject(signal.reason);
  }));
}
export async function deaf(request) {
  note(request, 'start');
  await new Promise(() => {});
}
export function blocking(request) {
  note(request, 'start');
  for (;;);
}
export async function winning(request, { signal }) {
  note(request, 'start');
  await new Promise(resolve => signal.addEventListener('abort', resolve));
  return { result: 'all the same' };
}
export async function passing(request) {
  note(request, 'start');
  if (request.payload.gate) await gate(request.payload.gate);
  return { result: 'passed' };
}
`;
const program = `#!/usr/bin/env node
const { appendFileSync, readFileSync } = require('node:fs');
const { job_id: job, attempt, payload } = JSON.parse(readFileSync(0));
const note = what => appendFileSync('../../journal', JSON.stringify({ job, attempt, what, name: String(process.pid) }) + '\\n');
if (payload.deaf) process.on('SIGTERM', () => note('told'));
if (payload.wins) process.on('SIGTERM', () => process.stdout.write('{"status":"ok","result":"all the same"}', () => process.exit()));
note('start');
setInterval(() => {}, 1000);
`;
const served = `#!/usr/bin/env node
const { appendFileSync, existsSync } = require('node:fs');
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, cancel, job_id: job, attempt, payload } = JSON.parse(line);
  const note = (what, of) => appendFileSync('../../journal', JSON.stringify({ ...of, what, name: String(process.pid) }) + '\\n');
  if (cancel !== undefined) {
    note('told', { job: 'cancel', attempt: cancel });
    console.log(JSON.stringify({ id: cancel, status: 'error', error: 'as asked', retry: true }));
    return;
  }
  note('start', { job, attempt });
  if (payload.quick) console.log(JSON.stringify({ id, status: 'ok', result: {} }));
});
`;
const ofProcess = { entrypoint: 'main.cjs', runtime: 'process', commands: { run: {} } };
const together = Object.fromEntries(
  ['heeding', 'deaf', 'blocking', 'winning', 'passing'].map(name => [name, { concurrency: 8 }]),
);
const gateway = shareGateway({
  service: { max_workers: 4 },
  plugins: {
    threads,
    together: { code: threads, commands: together },
    program: { code: program, ...ofProcess },
    served: { code: served, ...ofProcess, mode: 'persistent' },
    hearing: { code: served, ...ofProcess, mode: 'persistent', cancel: true },
  },
});

async function cancel(id: string): Promise<number> {
  return (await gateway.call('POST', `/job/${id}/cancel`, { reason: 'enough' })).status;
}

async function running(command: string, payload: object = {}): Promise<string> {
  const id = await gateway.submit(command, payload);
  await gateway.noted('start', id);
  return id;
}

/** The process that the job has noted. */
function pidOf(id: string): number {
  return Number(gateway.notesOf(id)[0]!.name);
}

async function gone(pid: number): Promise<void> {
  await until(`the process ${pid} is gone`, () => !isAlive({ pid, startTicks: null, bootId: null, namespace: null }));
}

test.each([
  ['a thread hears the signal with the reason', 'threads/heeding'],
  ['a thread that ignores it is replaced', 'threads/deaf'],
  ['a thread that blocks is replaced', 'threads/blocking'],
  ['with concurrency, a task that hears it', 'together/heeding'],
  ['with concurrency, a task that ignores it', 'together/deaf'],
  ['with concurrency, a thread that blocks', 'together/blocking'],
])('%s, and the job ends cancelled, once', async (_, command) => {
  const id = await running(command);
  // A task that has its outcome at once may have ended before the answer.
  expect([200, 202]).toContain(await cancel(id));
  expect(await gateway.settled(id)).toMatchObject({ status: 'cancelled', attempt: 1 });
  const heard = gateway.notesOf(id).find(({ what }) => what === 'heard');
  if (command.endsWith('heeding')) expect(heard?.name).toBe('cancelled by api:test: enough');
  expect(gateway.notesOf(id).filter(({ what }) => what === 'start')).toHaveLength(1);
  expect(await gateway.finished(command.replace(/\/.*/, '/passing'))).toMatchObject({ status: 'succeeded' });
});

test.each([
  ['code that succeeds after the signal', 'threads/winning', {}],
  ['a program that succeeds after SIGTERM', 'program/run', { wins: true }],
])('%s has succeeded with its result, and the cancel is shown', async (_, command, payload) => {
  const id = await running(command, payload);
  await cancel(id);
  expect(await gateway.settled(id)).toMatchObject({
    status: 'succeeded',
    result: { result: 'all the same' },
    cancel: { reason: 'enough' },
  });
});

test('with concurrency, the neighbours of a cancelled task go on', async () => {
  const neighbour = await running('together/passing', { gate: 'neighbour' });
  const id = await running('together/deaf');
  await cancel(id);
  expect(await gateway.settled(id)).toMatchObject({ status: 'cancelled' });
  gateway.open('neighbour');
  expect(await gateway.settled(neighbour)).toMatchObject({ status: 'succeeded', attempt: 1 });
});

test.each([
  ['ends at SIGTERM', 'program/run', {}],
  ['is killed 5 s after a SIGTERM that it ignores', 'program/run', { deaf: true }],
  ['ends with its process, where that stays for many jobs', 'served/run', {}],
])('a program %s', async (_, command, payload) => {
  const id = await running(command, payload);
  const pid = pidOf(id);
  const askedMs = performance.now();
  // A program that ends at once may have ended before the answer.
  expect([200, 202]).toContain(await cancel(id));
  expect(await gateway.settled(id)).toMatchObject({ status: 'cancelled', attempt: 1 });
  await gone(pid);
  // The bound is 6 s on a machine that is not busy.
  if ('deaf' in payload) expect(performance.now() - askedMs).toBeGreaterThan(4_900);
});

test('a persistent process that hears of cancels is told, and stays', async () => {
  const id = await running('hearing/run');
  const pid = pidOf(id);
  await cancel(id);
  expect(await gateway.settled(id)).toMatchObject({ status: 'cancelled', last_error: 'as asked' });
  expect(gateway.journal().some(({ job, name }) => job === 'cancel' && name === String(pid))).toBe(true);
  const next = await gateway.finished('hearing/run', { quick: true });
  expect([next.status, pidOf(next.job_id)]).toEqual(['succeeded', pid]);
});
