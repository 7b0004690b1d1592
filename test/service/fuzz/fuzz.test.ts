// Whatever is sent to a running gateway, it answers as its documents say, stays alive and never stands still.

import { EventEmitter, once } from 'node:events';
import { expect, test } from 'vitest';
import { apiRoutes } from '../../../http/routes/api.ts';
import type { JsonObject } from '../../../runtime/packing.ts';
import { writeCursor } from '../../../service/json/cursor.ts';
import { failuresList } from '../../../service/json/failures.ts';
import { placeBytes } from '../../../service/json/list.ts';
import { cyclesOf } from '../../support/deep.ts';
import { fc, testSeed } from '../../support/seed.ts';
import { everythingToken } from '../gateway/configuration.ts';
import { type Gateway, shareGateway } from '../gateway/gateway.ts';
import { echo, failing } from '../gateway/sources.ts';
import { bodyBytesMax } from './bodies.ts';
import { hostile } from './hostile.ts';
import { makeJudge } from './judge.ts';
import { mutated, transported, withHostileBody } from './mutation.ts';
import { noting, pausesSince } from './pauses.ts';
import { asksToClose, packetsOf, plain, type Request, told } from './request.ts';
import { type Known, operationRequests, validRequests } from './valid.ts';
import { type Reply, Wire } from './wire.ts';

/** The number of requests to each HTTP server. */
const requestsCount = cyclesOf({ deep: 10_240, quick: 320 });
const inFlight = 16;
const findingsMax = 10;
/**
 * How long the event loop may stand still, in CPU time of its thread: the clock would also count other work of the machine. On a busy machine
 * the same work takes more CPU time, too: the longest pause has had 25 to 55 ms.
 */
const pauseMsMax = 200;

const everything = 'fuzz-token-for-everything';
const scopeTokens = ['plugin:ro', 'plugin:rw', 'jobs:status:ro', 'jobs:logs:ro', 'events:ro', 'system:ro'].map(
  scope => {
    return { name: scope, token: `fuzz-token-for-${scope}`, scopes: [scope] };
  },
);
const expired = 'fuzz-token-that-has-expired';

const shapeSchema = {
  type: 'object',
  $defs: { point: { type: 'object', properties: { x: { type: 'number', minimum: -1, maximum: 1 } }, required: ['x'] } },
  properties: {
    width: { type: 'integer', minimum: 1, maximum: 10_000 },
    name: { type: 'string', pattern: '^[a-z]{1,8}$' },
    kind: { enum: ['round', 'square', 3, null] },
    points: { type: 'array', maxItems: 3, items: { $ref: '#/$defs/point' } },
    open: { type: 'boolean' },
    title: { type: 'string', maxLength: 40 },
  },
  required: ['width'],
  additionalProperties: false,
};

const steps = [{ id: 'only', uses: 'echo.say' }];
const branch = [{ uses: 'echo.say' }];
const gateway = shareGateway(
  {
    plugins: {
      echo: { code: echo, commands: { say: { type: 'read' } } },
      failing,
      shape: {
        code: echo,
        commands: { handle: { input_schema: shapeSchema }, say: { input_schema: { size: 'integer' } } },
      },
    },
    instances: { echo_again: { uses: 'echo' } },
    pipelines: [
      { name: 'now', on: 'now', execution_mode: 'synchronous', timeout_secs: 1, steps },
      { name: 'later', on: 'later', steps },
      { name: 'forked', on: 'forked', execution_mode: 'synchronous', steps: [{ split: [branch, branch] }] },
    ],
    schedules: [
      { id: 'rare', plugin: 'echo', at: '2999-01-01T00:00:00Z' },
      { id: 'yearly', pipeline: 'later', cron: '@yearly' },
    ],
    service: { log_level: 'info' },
    api: {
      max_body_size: bodyBytesMax,
      auth: {
        tokens: [
          { name: 'test', token: everythingToken, scopes: ['*'] },
          { name: 'fuzz', token: everything, scopes: ['*'] },
          { name: 'expired', token: expired, scopes: ['*'], expires_at: '2020-01-01T00:00:00Z' },
          ...scopeTokens,
        ],
      },
    },
  },
  { environment: noting },
);

/** Runs an action that matches no job; returns its id. */
async function nothingDone(at: Gateway): Promise<string> {
  const { body } = await at.call('POST', '/actions', { do: 'cancel', where: { plugin: 'nobody' } });
  return String(body['action_id']);
}

/** Makes some jobs and actions, and collects the names, ids and cursors that requests of the fuzzer use. */
async function look(at: Gateway): Promise<Known> {
  const jobs = [
    await at.finished('echo/handle', { hello: 'world' }),
    await at.finished('failing/handle', { retry: false }),
    await at.ran('later', { n: 1 }),
  ];
  const actions = [await nothingDone(at), await nothingDone(at)];
  const text = async (path: string, key: string) => String((await at.call('GET', path)).body[key]);
  const { plugins } = (await at.call('GET', '/plugins')).body as { readonly plugins: readonly { name: string }[] };
  return {
    document: (await at.call('GET', '/openapi.json')).body as JsonObject,
    plugins: plugins.map(({ name }) => name),
    pipelines: ['now', 'later'],
    jobs: jobs.map(job => job.job_id),
    actions,
    schedules: ['rare', 'yearly'],
    cursors: {
      '/jobs': await text('/jobs?limit=1', 'next_cursor'),
      '/actions': await text('/actions?limit=1', 'next_cursor'),
      '/schedules': await text('/schedules?limit=1', 'next_cursor'),
      '/failures': writeCursor(failuresList, placeBytes({ atUs: 1_750_000_000_000_000, place: 1 })),
      '/job-logs': await text('/job-logs?limit=1', 'next_cursor'),
    },
    token: everything,
  };
}

function send(wire: Wire, request: Request): Promise<Reply> {
  return wire.exchange({
    parts: packetsOf(request),
    isHead: request.method.toLowerCase() === 'head',
    isLast: asksToClose(request),
    endsAtOnce: request.isLoose,
  });
}

/** Progress of the requests. `probe` is emitted at every `answersPerProbe`th answer, and at the end. */
type Progress = { readonly events: EventEmitter; isOver: boolean };
const answersPerProbe = 8;

/** The longest time that /healthz took while the other requests ran, in ms, measured by this process. */
async function watchHealth(port: number, request: Request, progress: Progress): Promise<number> {
  const wire = new Wire(port);
  let longest = 0;
  while (!progress.isOver) {
    const started = performance.now();
    const reply = await send(wire, request);
    expect(reply).toMatchObject({ kind: 'answer', status: 200 });
    longest = Math.max(longest, performance.now() - started);
    if (!progress.isOver) await once(progress.events, 'probe');
  }
  wire.close();
  return longest;
}

test(`${requestsCount} requests, valid, mutated and hostile`, { timeout: 300_000 }, async () => {
  console.log(`seed of the requests: TEST_SEED=${testSeed}`);
  const known = await look(gateway);
  const valid = validRequests(apiRoutes, known);
  const tokens = { known: scopeTokens.map(({ token }) => token), expired };
  const requests = fc.sample(
    fc.oneof(
      { weight: 35, arbitrary: transported(valid) },
      { weight: 42, arbitrary: transported(mutated(valid, tokens)) },
      { weight: 8, arbitrary: transported(withHostileBody(operationRequests(known))) },
      { weight: 15, arbitrary: hostile(valid, everything) },
    ),
    { seed: testSeed, numRuns: requestsCount },
  );

  const judge = makeJudge(apiRoutes);
  const port = Number(new URL(gateway.url).port);
  const findings: string[] = [];
  const counts = new Map<string, number>();
  const startedMs = Date.now();
  let next = 0;
  let answered = 0;
  const progress: Progress = { events: new EventEmitter(), isOver: false };
  const ask = async () => {
    const wire = new Wire(port);
    while (next < requests.length && findings.length < findingsMax) {
      const request = requests[next++]!;
      const reply = await send(wire, request);
      const kind = reply.kind === 'answer' ? String(reply.status) : reply.kind;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      if (++answered % answersPerProbe === 0) progress.events.emit('probe');
      const wrong = judge(request, reply);
      if (wrong !== null) findings.push(`${wrong}: ${told(request)}`);
    }
    wire.close();
  };
  const health = watchHealth(port, { ...plain, target: '/healthz' }, progress);
  await Promise.all(Array.from({ length: inFlight }, ask));
  progress.isOver = true;
  progress.events.emit('probe');
  const healthMs = await health;
  const tookMs = Date.now() - startedMs;

  expect(findings).toEqual([]);
  expect(next).toBe(requestsCount);
  // The selfcheck, which reads the whole store, must not stop the event loop either.
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok', failures: [] });
  expect(pausesSince(gateway.directory, 0), 'pauses are noted').not.toEqual([]);
  const pauses = pausesSince(gateway.directory, startedMs);
  const words = [...counts].sort().map(([kind, count]) => `${kind}: ${count}`);
  const longest = pauses
    .slice(0, 3)
    .map(({ wallMs, workMs }) => `${workMs.toFixed()} ms of work (${wallMs.toFixed()} ms by the clock)`);
  console.log(
    `${tookMs} ms for ${words.join(', ')}; the event loop's longest pauses: ${longest.join(', ') || 'none'}; ` +
      `/healthz within ${healthMs.toFixed()} ms`,
  );
  // The requests have reached each kind of answer.
  for (const status of [200, 202, 304, 400, 401, 403, 404, 405, 413, 415, 422]) {
    expect(counts.get(String(status)) ?? 0, `answers with ${status}`).toBeGreaterThan(0);
  }
  expect(gateway.log.filter(({ level = 0 }) => level >= 50)).toEqual([]);
  expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ status: 'ok' });
  expect(pauses[0]?.workMs ?? 0).toBeLessThan(pauseMsMax);
});
