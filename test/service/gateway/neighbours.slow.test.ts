// Jobs that share a persistent process: what the cancel of one costs the others (docs/plugins.md#persistent-mode).
import { expect, test } from 'vitest';
import { shareGateway } from './gateway.ts';
import { opened } from './sources.ts';

/**
 * A plugin that notes the requests that it has read, and works on one after the other. It answers a cancelled request at once, without
 * beginning it. After SIGTERM it ends when the test opens the gate `end`.
 */
const served = `#!/usr/bin/env node
const { appendFileSync, existsSync, watch } = require('node:fs');
${opened}
const note = (what, { job_id: job, attempt }) => appendFileSync('../../journal', JSON.stringify({ job, attempt, what }) + '\\n');
const cancelled = new Set();
async function work(request) {
  if (cancelled.has(request.id)) return;
  note('start', request);
  const { gate } = request.payload;
  if (gate) await opened('../..', 'gate-' + gate);
  if (!cancelled.has(request.id)) console.log(JSON.stringify({ id: request.id, status: 'ok', result: {} }));
}
let last = Promise.resolve();
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const request = JSON.parse(line);
  if (request.cancel !== undefined) {
    cancelled.add(request.cancel);
    console.log(JSON.stringify({ id: request.cancel, status: 'error', error: 'as asked' }));
    return;
  }
  note('read', request);
  last = last.then(() => work(request));
});
process.on('SIGTERM', () => opened('../..', 'gate-end').then(() => process.exit()));
`;
const persistent = { code: served, entrypoint: 'main.cjs', runtime: 'process', mode: 'persistent' };
const gateway = shareGateway({
  service: { max_workers: 1 },
  plugins: {
    served: { ...persistent, commands: { run: {} } },
    hearing: { ...persistent, cancel: true, commands: { run: {} } },
    careful: { ...persistent, commands: { run: { retry_safe: false } } },
  },
});

async function batch(plugin: string, payloads: readonly object[]): Promise<string[]> {
  const { body } = await gateway.call('POST', `/plugin/${plugin}/run/batch`, { payloads });
  return body['job_ids'] as string[];
}

async function cancel(id: string): Promise<number> {
  return (await gateway.call('POST', `/job/${id}/cancel`)).status;
}

let gates = 0;

function noted(what: string, id: string): number {
  return gateway.notesOf(id).filter(note => note.what === what).length;
}

/** Three jobs whose requests one process has read. It works on the first one until the test ends it, or opens its gate. */
async function threeInOneProcess(plugin: string): Promise<readonly [string, string, string]> {
  for (;;) {
    // Frames grow with the jobs that have ended quickly.
    await gateway.allSettled(await batch(plugin, Array(30).fill({})));
    gates++;
    const gate = `gate ${gates}`;
    const ids = await batch(plugin, [{ gate }, {}, {}]);
    const [first, second, third] = ids as [string, string, string];
    await gateway.noted('start', first);
    // The process reads all requests that have arrived before it begins the first one.
    if (noted('read', third) > 0) return [first, second, third];
    gateway.open(gate);
    await gateway.allSettled(ids);
  }
}

test('several jobs of a process are cancelled: each has been stopped, also the one that the process had begun', async () => {
  const [first, second, third] = await threeInOneProcess('served');
  for (const id of [third, first]) expect(await cancel(id)).toBe(202);
  gateway.open('end');
  for (const id of [third, first]) {
    const stopped = { status: 'cancelled', attempt: 1, last_error: 'cancelled by api:test' };
    expect(await gateway.settled(id)).toMatchObject(stopped);
    const { body } = await gateway.call('GET', `/job-logs?job_id=${id}`);
    expect(body['logs']).toMatchObject([{ log_id: `${id}-1`, status: 'cancelled' }]);
  }
  expect(await gateway.settled(second)).toMatchObject({ status: 'succeeded', attempt: 1 });
});

test('the other jobs of a process that a cancel ends run again, uncharged', async () => {
  const [first, second, third] = await threeInOneProcess('served');
  // The gate `end` is open, so the process may have ended before the answer.
  expect([200, 202]).toContain(await cancel(third));
  expect((await gateway.settled(third)).status).toBe('cancelled');
  gateway.open(`gate ${gates}`);
  for (const id of [first, second])
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect([noted('start', first), noted('start', second), noted('start', third)]).toEqual([2, 1, 0]);
});

test('a process that reads cancels is told of each cancelled job; it begins none of them, and stays', async () => {
  const [first, second, third] = await threeInOneProcess('hearing');
  for (const id of [second, third]) expect([200, 202]).toContain(await cancel(id));
  gateway.open(`gate ${gates}`);
  expect(await gateway.settled(first)).toMatchObject({ status: 'succeeded', attempt: 1 });
  for (const id of [second, third])
    expect(await gateway.settled(id)).toMatchObject({ status: 'cancelled', attempt: 1 });
  expect([noted('start', first), noted('start', second), noted('start', third)]).toEqual([1, 0, 0]);
});

test('a process gets the request of a job that must not run twice after it has answered the one before', async () => {
  const ids = await batch('careful', [{ gate: 'careful' }, {}, {}]);
  const [first, second, third] = ids as [string, string, string];
  await gateway.noted('start', first);
  expect(await cancel(third)).toBe(200);
  gateway.open('careful');
  for (const id of [first, second])
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  const readAndBegun = (id: string) => [noted('read', id), noted('start', id)];
  expect(ids.map(readAndBegun)).toEqual([
    [1, 1],
    [1, 1],
    [0, 0],
  ]);
});
