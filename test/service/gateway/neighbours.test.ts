// Jobs that share a persistent process: what the cancel of one costs the others (docs/plugins.md#persistent-mode).
import { expect, test } from 'vitest';
import { shareGateway } from './gateway.ts';
import { opened } from './sources.ts';

/** Notes the requests that it has read, works on one after the other, and ends after SIGTERM when the test opens the gate `end`. */
const served = `#!/usr/bin/env node
const { appendFileSync, existsSync, watch } = require('node:fs');
${opened}
const note = (what, { job_id: job, attempt }) => appendFileSync('../../journal', JSON.stringify({ job, attempt, what }) + '\\n');
async function work(request) {
  note('start', request);
  const { gate } = request.payload;
  if (gate) await opened('../..', 'gate-' + gate);
  console.log(JSON.stringify({ id: request.id, status: 'ok', result: {} }));
}
let last = Promise.resolve();
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const request = JSON.parse(line);
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
async function threeInOneProcess(): Promise<readonly [string, string, string]> {
  for (;;) {
    // Frames grow with the jobs that have ended quickly.
    await gateway.allSettled(await batch('served', Array(30).fill({})));
    gates++;
    const gate = `gate ${gates}`;
    const ids = await batch('served', [{ gate }, {}, {}]);
    const [first, second, third] = ids as [string, string, string];
    await gateway.noted('start', first);
    // The process reads all requests that have arrived before it begins the first one.
    if (noted('read', third) > 0) return [first, second, third];
    gateway.open(gate);
    await gateway.allSettled(ids);
  }
}

test('a job that the process had begun, and that is cancelled while a cancel of a later one ends the process, has been stopped', async () => {
  const [first, second, third] = await threeInOneProcess();
  expect(await cancel(third)).toBe(202);
  expect(await cancel(first)).toBe(202);
  gateway.open('end');
  const stopped = { status: 'cancelled', attempt: 1, last_error: 'lost while running' };
  expect(await gateway.settled(first)).toMatchObject(stopped);
  expect(await gateway.settled(third)).toMatchObject({ status: 'cancelled', attempt: 1 });
  expect(await gateway.settled(second)).toMatchObject({ status: 'succeeded', attempt: 1 });
  const { body } = await gateway.call('GET', `/job-logs?job_id=${first}`);
  expect(body['logs']).toMatchObject([{ log_id: `${first}-1`, status: 'cancelled' }]);
});

test('the other jobs of a process that a cancel ends run again, uncharged', async () => {
  const [first, second, third] = await threeInOneProcess();
  expect(await cancel(third)).toBe(202);
  expect((await gateway.settled(third)).status).toBe('cancelled');
  gateway.open(`gate ${gates}`);
  for (const id of [first, second])
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect([noted('start', first), noted('start', second), noted('start', third)]).toEqual([2, 1, 0]);
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
