// Plugins (docs/contract.md#for-plugin-authors): state, schemas, instances, and programs of any language.
import { expect, test } from 'vitest';
import { filterSchema, nestedFilter } from '../../support/nested-filters.ts';
import { type Output, shareGateway } from './gateway.ts';

const counting = `
export const handle = ({ state, event }) => {
  const count = (state.count ?? 0) + 1;
  return { result: { count, seen: Object.keys(state).sort() }, state_updates: { count, ...event.payload } };
};
export const fill = () => ({ state_updates: { much: 'x'.repeat(1100000) } });
`;

const shell = (lines: string, more: object = {}) => ({
  code: `#!/bin/sh\n${lines}\n`,
  entrypoint: 'run.sh',
  runtime: 'process',
  commands: { handle: {} },
  ...more,
});

const python = `#!/usr/bin/env python3
import json, sys
request = json.loads(sys.stdin.readline())
print(json.dumps({"status": "ok", "result": {"sum": sum(request["event"]["payload"]["numbers"])}}))
`;

const size = { $ref: '#/definitions/size' };
/** A schema of draft 7, which ignores keywords beside `$ref`. Each `$ref` stands beside keywords that no size fits. */
const olderSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    small: { ...size, type: 'string', maximum: 1, title: 'Small.' },
    $ref: { type: 'integer' },
    list: { items: [{ ...size, enum: ['a'] }] },
    plain: { const: { $ref: '#', more: true } },
  },
  dependencies: { list: { properties: { large: { ...size, not: {} } } } },
  definitions: { size: { type: 'integer' } },
};

const gateway = shareGateway(
  {
    service: { plugin_env_passthrough: ['LET_THROUGH'] },
    plugins: {
      counting,
      keeping: `export const handle = ({ event: { payload }, state }, { emit }) => {
        emit({ type: 'kept', payload });
        return { result: { payload, state }, state_updates: { kept: payload, ...payload } };
      };`,
      speaking: `export const handle = async (request, { log, emit, span }) => {
      const end = span('work');
      log('warn', 'careful');
      emit({ type: 'spoken.up', payload: { loud: true } });
      end();
      return { result: request.config };
    };`,
      strict: {
        code: 'export const handle = ({ event }) => ({ result: event.payload }); export const other = () => ({});',
        commands: { handle: { input_schema: { width: 'integer', path: 'string' } }, other: {} },
      },
      older: {
        code: 'export const handle = ({ event }) => ({ result: event.payload });',
        commands: { handle: { input_schema: olderSchema } },
      },
      searching: {
        code: 'export const handle = () => ({}); export const slow = () => ({});',
        commands: { handle: { input_schema: filterSchema(false) }, slow: { input_schema: filterSchema(true) } },
      },
      adding: { code: python, entrypoint: 'add.py', runtime: 'process', commands: { handle: {} } },
      shouting: shell(`read request; echo 'to stderr' >&2; echo '{"status":"ok","result":"from sh"}'`),
      environment: shell(`printf '{"status":"ok","result":"'; env | sort | cut -d= -f1 | tr '\\n' ' '; printf '"}'`),
      silent: shell('exit 3'),
      babbling: shell('echo nonsense'),
      refusing: shell('exit 78'),
      misspelt: 'export const handle = (;',
      unpacked: 'import "not-installed";\nexport const handle = () => {};',
      lacking: { code: 'export const other = () => {};', commands: { handle: {} } },
      sleeping: shell(`trap '' TERM; sleep 60 & echo $! > ../../sleeper; wait`),
    },
    instances: {
      second: { uses: 'counting' },
      speaking: { config: { greeting: 'hello' } },
      loud: { uses: 'speaking', config: { greeting: 'HELLO' } },
      silent: { retry: { max_attempts: 2, backoff_base: '5ms' } },
      babbling: { retry: { max_attempts: 2, backoff_base: '5ms' } },
    },
    pipelines: [
      { name: 'search', input_schema: filterSchema(false), steps: [{ uses: 'searching' }] },
      { name: 'older', input_schema: olderSchema, steps: [{ uses: 'older' }] },
      { name: 'search-slowly', steps: [{ uses: 'searching.slow' }] },
    ],
  },
  { environment: { LET_THROUGH: 'yes', KEPT_BACK: 'no' } },
);

const resultOf = (output: Output | null) => output?.result;

test('state updates are merged at the top level, and the next job sees them', async () => {
  await gateway.finished('counting/handle', { a: 1 });
  await gateway.finished('counting/handle', { b: 2 });
  const job = await gateway.finished('counting/handle');
  expect(resultOf(job.result)).toEqual({ count: 3, seen: ['a', 'b', 'count'] });
});

test('two instances of a plugin have each their own config and state', async () => {
  await gateway.finished('second/handle', { mine: true });
  expect(resultOf((await gateway.finished('second/handle')).result)).toEqual({ count: 2, seen: ['count', 'mine'] });
  expect(resultOf((await gateway.finished('speaking/handle')).result)).toEqual({ greeting: 'hello' });
  expect(resultOf((await gateway.finished('loud/handle')).result)).toEqual({ greeting: 'HELLO' });
});

test('more than 1 MiB of state fails the attempt for good, and leaves the state as it was', async () => {
  const job = await gateway.finished('counting/fill');
  expect(job).toMatchObject({ status: 'failed', attempt: 1, last_error: expect.stringContaining('state') });
  const { seen } = resultOf((await gateway.finished('counting/handle')).result) as { seen: string[] };
  expect(seen).not.toContain('much');
});

test('the keys "constructor" and "toJSON" are data like others: in payloads, results, events and state', async () => {
  const payload = { constructor: 1, toJSON: 2, list: [{ toJSON: 'x', constructor: { toJSON: null } }] };
  const state = { kept: payload, ...payload };
  for (const before of [{}, state]) {
    const { result } = await gateway.finished('keeping/handle', payload);
    expect(result).toMatchObject({ result: { payload, state: before }, events: [{ type: 'kept', payload }] });
  }
});

test('log lines and events of a worker plugin are in its result', async () => {
  const { result } = await gateway.finished('speaking/handle');
  expect(result).toMatchObject({
    logs: [{ level: 'warn', message: 'careful' }],
    events: [{ type: 'spoken.up', payload: { loud: true } }],
  });
});

test('spans of a worker plugin are in the log of its attempt, beside the result', async () => {
  const { job_id: id } = await gateway.finished('speaking/handle');
  const logOf = async (job: string, more = '') => {
    const { body } = await gateway.call('GET', `/job-logs?job_id=${job}${more}`);
    return (body['logs'] as readonly object[])[0]!;
  };
  expect(await logOf(id, '&include_result=true')).toMatchObject({
    spans: [{ name: 'work', dur_ns: expect.any(Number) }],
  });
  expect(Object.keys(await logOf(id))).not.toContain('spans');
  const { job_id: without } = await gateway.finished('counting/handle');
  expect(Object.keys(await logOf(without, '&include_result=true'))).not.toContain('spans');
});

test('a payload that breaks the input schema gets 400 naming the path, and enqueues nothing', async () => {
  const before = (await gateway.call('GET', '/healthz')).body['queue_depth'];
  const { status, body } = await gateway.call('POST', '/plugin/strict/handle', { payload: { width: 'wide' } });
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: 'invalid_payload', detail: expect.stringContaining('/payload/width') });
  expect((await gateway.call('GET', '/healthz')).body['queue_depth']).toBe(before);
  expect(await gateway.finished('strict/handle', { width: 3, path: 'x', more: 1 })).toMatchObject({
    status: 'succeeded',
  });
});

test('keywords beside $ref do not count in a schema of draft 7, for calls, hosts and documents', async () => {
  const payload = { small: 2, $ref: 3, list: [4], plain: { $ref: '#', more: true }, large: 5 };
  expect(await gateway.finished('older/handle', payload)).toMatchObject({ result: { result: payload } });
  expect(await gateway.ran('older', payload)).toMatchObject({ status: 'succeeded' });
  for (const path of ['/plugin/older/handle', '/pipeline/older']) {
    for (const wrong of [
      { small: 'a' },
      { $ref: 'a' },
      { list: ['a'] },
      { plain: { $ref: '#' } },
      { list: [], large: 'a' },
    ])
      expect([wrong, (await gateway.call('POST', path, { payload: wrong })).status]).toEqual([wrong, 400]);
  }
  const { skills } = (await gateway.call('GET', '/skills')).body as {
    skills: { name: string; input_schema: object }[];
  };
  const shown = skills.filter(({ name }) => name.includes('older')).map(skill => skill.input_schema);
  const small = { ...size, title: 'Small.' };
  expect(shown).toMatchObject([{ properties: { small } }, { properties: { small } }]);
  for (const schema of shown) expect(schema).not.toHaveProperty('properties.small.type');
});

test('a Python program is a plugin', async () => {
  const job = await gateway.finished('adding/handle', { numbers: [1, 2, 39] });
  expect(job).toMatchObject({ status: 'succeeded', result: { result: { sum: 42 } } });
});

test('a shell script is a plugin', async () => {
  expect(await gateway.finished('shouting/handle')).toMatchObject({
    status: 'succeeded',
    result: { result: 'from sh' },
  });
});

test('a program sees only the environment that it may', async () => {
  const names = String(resultOf((await gateway.finished('environment/handle')).result))
    .trim()
    .split(' ');
  expect(names).toContain('PATH');
  expect(names).toContain('LET_THROUGH');
  expect(names).not.toContain('KEPT_BACK');
});

test('no answer, or one that is not JSON, is a retryable failure with its reason', async () => {
  const silent = await gateway.finished('silent/handle');
  expect(silent).toMatchObject({ status: 'dead', attempt: 2, last_error: expect.stringContaining('exit status 3') });
  const babbling = await gateway.finished('babbling/handle');
  expect(babbling).toMatchObject({ status: 'dead', attempt: 2, last_error: expect.stringContaining('not JSON') });
});

test('exit status 78 is a permanent failure', async () => {
  expect(await gateway.finished('refusing/handle')).toMatchObject({ status: 'failed', attempt: 1 });
});

test.each([
  ['misspelt', /^index\.mjs cannot be loaded: SyntaxError: /],
  ['unpacked', /^index\.mjs cannot be loaded: Cannot find package 'not-installed'/],
  ['lacking', /^index\.mjs exports no function "handle"$/],
])('a file that cannot be loaded fails its job at once, and no attempt follows: %s', async (plugin, error) => {
  const job = await gateway.finished(`${plugin}/handle`);
  expect(job).toMatchObject({ status: 'failed', attempt: 1, last_error: expect.stringMatching(error) });
});

test('the check of a small payload against a recursive schema ends, whatever the payload', async () => {
  const wrong = nestedFilter(25, 7);
  const calls = ['/plugin/searching/handle', '/plugin/searching/slow', '/pipeline/search'].flatMap(path => [
    gateway.call('POST', path, { payload: wrong }),
    gateway.call('POST', `${path}/batch`, { payloads: [{}, wrong] }),
  ]);
  expect((await gateway.call('GET', '/healthz')).status).toBe(200);
  for (const { status, body } of await Promise.all(calls))
    expect([status, body['code']]).toEqual([400, 'invalid_payload']);

  const right = nestedFilter(29, 'a');
  for (const path of ['/plugin/searching/handle', '/pipeline/search'])
    expect((await gateway.call('POST', path, { payload: right })).status).toBe(202);
  const tooMany = 'takes too many steps to check against its schema';
  const { body } = await gateway.call('POST', '/plugin/searching/slow', { payload: right });
  expect(body['detail']).toBe(`/payload ${tooMany}`);
  // The payloads of the jobs of a run are checked beside the plugin.
  expect(await gateway.ran('search-slowly', right)).toMatchObject({
    status: 'failed',
    last_error: expect.stringContaining(tooMany),
  });
});
