// Section 4.4 of sentences.ts: what may be read with a token.
import { expect, test } from 'vitest';
import { shareGateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { moment, read, scopesThatMay, settings, text, tokenOf, whole } from './service.ts';

const gateway = shareGateway(settings);

type Step = { readonly step: string; readonly sample_count: number; readonly subs?: object[] };

/** The step `handle.run` of the stopwatch, once it has counted a job. */
async function runsOf(query = ''): Promise<Step> {
  await gateway.finished('speaker/handle');
  return until('a run is counted', async () => {
    const { steps } = await read(gateway, `/stopwatch/speaker${query}`);
    return (steps as Step[]).find(({ step, sample_count }) => step === 'handle.run' && sample_count > 0);
  });
}

test('GET /plugin/{name} needs plugin:ro, plugin:rw or *', async () => {
  expect(await scopesThatMay(gateway, 'GET', '/plugin/echo')).toEqual(['*', 'plugin:ro', 'plugin:rw']);
});

test('GET /plugin/{name} has name, version, description, protocol and commands', async () => {
  expect(await read(gateway, '/plugin/echo')).toEqual({
    ...{ name: 'echo', version: '1.0.0', description: 'Hands back what it is given.', protocol: whole },
    commands: ['handle', 'look', 'measure'].map(name => expect.objectContaining({ name, type: text })),
  });
});

test('GET /topology needs plugin:catalog:ro, plugin:rw or *', async () => {
  expect(await scopesThatMay(gateway, 'GET', '/topology')).toEqual(['*', 'plugin:rw', 'plugin:catalog:ro']);
});

test('GET /topology has captured_at, plugins and signals', async () => {
  const lists = { plugins: expect.any(Array), signals: expect.any(Array) };
  expect(await read(gateway, '/topology')).toEqual({ captured_at: moment, ...lists });
});

test('a plugin of the topology has name, active, inputs and outputs', async () => {
  const { plugins } = await read(gateway, '/topology');
  expect(plugins).toContainEqual({
    ...{ name: 'speaker', active: true, inputs: [] },
    outputs: [{ signal: 'word.said', command: 'handle' }],
  });
  expect(plugins).toContainEqual({
    ...{ name: 'echo', active: true, outputs: expect.any(Array) },
    inputs: expect.arrayContaining([{ signal: 'word.said', command: 'handle' }]),
  });
});

test('a signal of the topology has name, producers and consumers', async () => {
  expect((await read(gateway, '/topology'))['signals']).toContainEqual({
    name: 'word.said',
    producers: [{ plugin: 'speaker', command: 'handle' }],
    consumers: [{ plugin: 'echo', command: 'handle' }],
  });
});

test('GET /stopwatch/{plugin} needs jobs:status:ro, jobs:rw or *', async () => {
  expect(await scopesThatMay(gateway, 'GET', '/stopwatch/echo')).toEqual(['*', 'jobs:rw', 'jobs:status:ro']);
});

test('GET /stopwatch/{plugin} has plugin, window, captured_at and steps', async () => {
  expect(await read(gateway, '/stopwatch/echo')).toEqual({
    ...{ plugin: 'echo', window: text, captured_at: moment },
    steps: expect.any(Array),
  });
});

test('a step has sample_count, whole p50, p95 and p99 milliseconds and a trend', async () => {
  const step = await runsOf();
  expect(step).toMatchObject({ sample_count: whole, p50_ms: whole, p95_ms: whole, p99_ms: whole });
  const { trend_p95_ms: trend } = step as Step & { trend_p95_ms: number[] };
  expect([trend.length > 0, trend.every(Number.isInteger)]).toEqual([true, true]);
});

test('since bounds the window', async () => {
  await runsOf();
  const before = new Date(Date.now() - 3_600_000).toISOString();
  expect((await runsOf(`?since=${before}`)).sample_count).toBeGreaterThan(0);
  const { steps } = await read(gateway, `/stopwatch/speaker?since=${new Date(Date.now() + 3_600_000).toISOString()}`);
  for (const { sample_count } of steps as Step[]) expect(sample_count).toBe(0);
});

test('include_subs includes the statistics of named sub-spans', async () => {
  const { subs } = await runsOf('?include_subs=true');
  const figures = { sample_count: whole, p50_ms: whole, p95_ms: whole, p99_ms: whole };
  expect(subs).toEqual([expect.objectContaining({ name: 'breath', ...figures })]);
  expect(await runsOf()).not.toHaveProperty('subs');
});

test('include_subs needs the scope to read results', async () => {
  await runsOf('?include_subs=true');
  for (const [scope, isShown] of [
    ['jobs:status:ro', false],
    ['jobs:rw', true],
  ] as const) {
    const path = '/stopwatch/speaker?include_subs=true';
    const { body } = await gateway.call('GET', path, undefined, { token: tokenOf(scope) });
    expect(JSON.stringify(body).includes('breath')).toBe(isShown);
  }
});

test('GET /events needs events:ro, events:rw or *', async () => {
  expect(await scopesThatMay(gateway, 'GET', '/events')).toEqual(['*', 'events:ro', 'events:rw']);
});

test('GET /events opens a Server-Sent Events stream with its headers', async () => {
  const headers = { Authorization: `Bearer ${tokenOf('events:ro')}` };
  const answer = await fetch(`${gateway.url}/events`, { headers });
  await answer.body?.cancel();
  expect(answer.status).toBe(200);
  expect(answer.headers.get('Content-Type')).toBe('text/event-stream');
  expect(answer.headers.get('Cache-Control')).toBe('no-cache');
  expect(answer.headers.get('Connection')).toBe('keep-alive');
});
