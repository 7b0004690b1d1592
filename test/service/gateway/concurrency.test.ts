// Commands with many jobs under way in one thread: how many there are, what one that misbehaves costs the others, and what a reload changes.
import { expect, test } from 'vitest';
import { type Note, shareGateway } from './gateway.ts';
import { journal, opened, worker } from './sources.ts';
import { until } from './until.ts';

const together = { handle: { concurrency: 4 } };
const wild = `${journal}
export async function handle(request) {
  const { does, gate: name } = request.event.payload;
  note(request, 'start');
  if (does === 'block') for (;;);
  if (does === 'never') await new Promise(() => {});
  if (name) await gate(name);
}
`;
const tally = `${journal}
export async function handle(request) {
  const { key, gate: name } = request.event.payload;
  note(request, 'start');
  await gate(name);
  return { result: request.state, state_updates: { [key]: 1, last: key } };
}
`;
const served = `#!/usr/bin/env node
const { existsSync, watch } = require('node:fs');
${opened}
require('node:readline').createInterface({ input: process.stdin }).on('line', async line => {
  const { id, event } = JSON.parse(line);
  await opened('../..', 'gate-' + event.payload.gate);
  console.log(JSON.stringify({ id, status: 'ok', result: { pid: process.pid } }));
});
`;
const wildMs = 6_000;
const settings = {
  service: { max_workers: 2 },
  plugins: {
    worker: { code: worker, commands: together },
    single: worker,
    wild: { code: wild, commands: { handle: { concurrency: 30 } } },
    tally: { code: tally, commands: together },
    served: { code: served, entrypoint: 'run', mode: 'persistent', commands: together },
  },
  instances: {
    bounded: { uses: 'worker', parallelism: 3 },
    narrow: { uses: 'worker', concurrency: { handle: 1 } },
    wider: { uses: 'single', concurrency: 10 },
    // The jobs that must not time out have enough time, also on a busy machine.
    wild: { timeouts: { handle: `${wildMs}ms` }, retry: { max_attempts: 1 } },
  },
};
const gateway = shareGateway(settings);

const notesOf = (ids: readonly string[]): Note[] => gateway.journal().filter(({ job }) => ids.includes(job));
const submitAll = (plugin: string, payloads: readonly object[]) =>
  Promise.all(payloads.map(payload => gateway.submit(`${plugin}/handle`, payload)));
const many = (count: number, payload: object) => Array.from({ length: count }, () => payload);

function mostAtOnce(notes: readonly Note[]): number {
  let underWay = 0;
  return Math.max(...notes.map(({ what }) => (underWay += what === 'start' ? 1 : -1)));
}

test.each([
  { plugin: 'worker', most: 8, says: 'as many as the manifest says, in each thread' },
  { plugin: 'wider', most: 20, says: 'as many as the configuration says' },
  { plugin: 'narrow', most: 2, says: 'one where the configuration says so' },
  { plugin: 'bounded', most: 3, says: 'no more than parallelism' },
])('$plugin has $most jobs under way: $says', async ({ plugin, most }) => {
  const ids = await submitAll(plugin, many(30, { gate: plugin }));
  await until('all places are taken', () => notesOf(ids).length >= most);
  const { body } = await gateway.call('GET', '/analytics/queue');
  expect(body.plugin_lanes).toContainEqual(expect.objectContaining({ plugin, active_count: most }));
  gateway.open(plugin);
  await gateway.allSettled(ids);
  expect(notesOf(ids)).toHaveLength(60);
  expect(mostAtOnce(notesOf(ids))).toBe(most);
});

test('a persistent process is asked as many at once', async () => {
  const ids = await submitAll('served', many(20, { gate: 'served' }));
  const active = async () => {
    const { body } = await gateway.call('GET', '/analytics/queue');
    const lanes = body['plugin_lanes'] as readonly { readonly plugin: string; readonly active_count: number }[];
    return lanes.find(({ plugin }) => plugin === 'served')?.active_count;
  };
  await until('all places are taken', async () => (await active()) === 8);
  gateway.open('served');
  await gateway.allSettled(ids);
  const results = await Promise.all(ids.map(async id => (await gateway.job(id)).result!['result']));
  expect(new Set(results.map(result => JSON.stringify(result))).size).toBe(2);
});

test('a free place is filled while a neighbour goes on', async () => {
  const [slow] = await submitAll('worker', [{ gate: 'slow' }]);
  await gateway.noted('start', slow!);
  const ids = await submitAll('worker', many(20, {}));
  await gateway.allSettled(ids);
  expect(await gateway.job(slow!)).toMatchObject({ status: 'running' });
  gateway.open('slow');
  expect(await gateway.settled(slow!)).toMatchObject({ status: 'succeeded' });
});

test('a flood of them holds up no other plugin', async () => {
  const flood = await submitAll('worker', many(30, { gate: 'flood' }));
  await until('all places are taken', () => notesOf(flood).length >= 8);
  expect(await gateway.finished('single/handle')).toMatchObject({ status: 'succeeded' });
  gateway.open('flood');
  await gateway.allSettled(flood);
});

test('each gets the state as it was committed, and updates merge in the order of ending', async () => {
  const [first, second] = await submitAll('tally', [
    { key: 'a', gate: 'first' },
    { key: 'b', gate: 'second' },
  ]);
  await until('both run', () => notesOf([first!, second!]).length === 2);
  gateway.open('second');
  expect(await gateway.settled(second!)).toMatchObject({ result: { result: {} } });
  gateway.open('first');
  expect(await gateway.settled(first!)).toMatchObject({ result: { result: {} } });
  const third = await gateway.finished('tally/handle', { key: 'c', gate: 'first' });
  expect(third).toMatchObject({ result: { result: { a: 1, b: 1, last: 'a' } } });
});

test('one that blocks its thread is charged; its neighbours run again, alone and uncharged', async () => {
  const neighbours = await submitAll('wild', many(20, { gate: 'blocked' }));
  await until('all run', () => notesOf(neighbours).length === 20);
  const [blocking] = await submitAll('wild', [{ does: 'block' }]);
  gateway.open('blocked');
  const late = { status: 'timed_out', last_error: `timed out after ${wildMs} ms` };
  expect(await gateway.settled(blocking!)).toMatchObject(late);
  await gateway.allSettled(neighbours);
  for (const id of neighbours) expect(await gateway.job(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
});

test('one that never settles is timed out at its deadline, and those after it run', async () => {
  const ids = await submitAll('wild', [...many(3, {}), { does: 'never' }, ...many(3, {})]);
  await gateway.allSettled(ids);
  const statuses = await Promise.all(ids.map(async id => (await gateway.job(id)).status));
  expect(statuses.sort()).toEqual([...many(6, {}).map(() => 'succeeded'), 'timed_out']);
  expect(await gateway.finished('wild/handle')).toMatchObject({ status: 'succeeded' });
});

test('a reload changes how many there are, from the next frame on', async () => {
  await gateway.reload({
    ...settings,
    instances: { ...settings.instances, bounded: { uses: 'worker', concurrency: 6 } },
  });
  const ids = await submitAll('bounded', many(20, { gate: 'reloaded' }));
  await until('all places are taken', () => notesOf(ids).length >= 12);
  gateway.open('reloaded');
  await gateway.allSettled(ids);
  expect(mostAtOnce(notesOf(ids))).toBe(12);
  const { plugins } = (await gateway.call('GET', '/config/view')).body as { plugins: Record<string, object> };
  expect(plugins['bounded']).toEqual({ enabled: true, config: {}, concurrency: { handle: 6 } });
  expect(plugins['narrow']).toEqual({ enabled: true, config: {} });
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});
