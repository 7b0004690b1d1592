// Description and input schema of pipelines: who sees them, and whose payloads are checked against them.
import { expect, test } from 'vitest';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import { keys, send, signed } from '../webhooks/sender.ts';

const inputSchema = {
  type: 'object',
  required: ['people'],
  properties: { people: { type: 'array', items: { type: 'string' }, maxItems: 3 } },
};
const steps = [{ uses: 'teller' }];
const gateway = shareGateway({
  plugins: {
    teller: 'export const handle = ({ event }) => ({ result: event.payload });',
    source: "export const handle = () => ({ events: [{ type: 'people.came', payload: { people: 7 } }] });",
  },
  pipelines: [
    { name: 'greet', on: 'people.came', description: ' Greets them all. ', input_schema: inputSchema, steps },
    { name: 'wait', execution_mode: 'synchronous', timeout_secs: 100, input_schema: { n: 'integer' }, steps },
    { name: 'outer', steps: [{ call: 'greet', with: { people: 1 } }] },
    { name: 'plain', steps },
  ],
  webhooks: {
    endpoints: [
      {
        name: 'greet',
        path: '/webhook/greet',
        pipeline: 'greet',
        secret_ref: 'plain',
        signature_header: 'X-Signature',
      },
    ],
  },
  tokens: [{ name: 'plain', key: keys.plain }],
});

const post = (pipeline: string, payload: object, query = '') =>
  gateway.call('POST', `/pipeline/${pipeline}${query}`, { payload });
const total = async () => Number((await gateway.call('GET', '/jobs')).body['total']);

test('GET /skills shows both, and leaves out what is not there', async () => {
  const { skills } = (await gateway.call('GET', '/skills')).body as { skills: { name: string }[] };
  const skill = (name: string) => skills.find(one => one.name === `pipeline.${name}`);
  expect(skill('greet')).toMatchObject({ description: 'Greets them all.', input_schema: inputSchema });
  const expanded = { type: 'object', properties: { n: { type: 'integer' } } };
  expect(skill('wait')).toMatchObject({ input_schema: expanded });
  for (const key of ['description', 'input_schema']) expect(skill('plain')).not.toHaveProperty(key);
});

test('a payload that breaks the schema is 400 with a pointer to each place, and starts nothing', async () => {
  const before = await total();
  const missing = await gateway.call('POST', '/pipeline/greet');
  expect([missing.status, missing.body['code'], missing.body['detail']]).toEqual([
    400,
    'invalid_payload',
    '/payload/people is required',
  ]);
  const several = await post('greet', { people: ['a', 1, true] });
  expect(several.body['errors']).toEqual([
    { pointer: '/payload/people/1', message: 'must be string' },
    { pointer: '/payload/people/2', message: 'must be string' },
  ]);
  const waiting = await post('wait', { n: 'one' });
  expect([waiting.status, waiting.body['detail']]).toEqual([400, '/payload/n must be integer']);
  expect((await post('wait', { n: 'one' }, '?async=true')).status).toBe(400);
  expect(await total()).toBe(before);
});

test('a payload that fits is taken, waited for or not', async () => {
  expect((await post('greet', { people: ['Ada'] })).status).toBe(202);
  const waited = await post('wait', { n: 1, other: true });
  expect([waited.status, waited.body['status']]).toEqual([200, 'succeeded']);
});

test('a refused call is not remembered: its Idempotency-Key is free for the right one', async () => {
  const headers = { 'Idempotency-Key': 'greeting' };
  const call = (people: unknown) => gateway.call('POST', '/pipeline/greet', { payload: { people } }, { headers });
  expect((await call('Ada')).status).toBe(400);
  expect((await call(['Ada'])).status).toBe(202);
});

test('a delivery is held to the schema too, after its signature', async () => {
  const deliver = (body: string, headers = signed(body)) => send(gateway, '/webhook/greet', body, headers);
  const wrong = '{"people":["a",2]}';
  expect((await deliver(wrong, {})).status).toBe(403);
  const { status, body } = await deliver(wrong);
  expect([status, body['code'], body['detail']]).toEqual([400, 'invalid_payload', '/people/1 must be string']);
  expect((await deliver('{"people":["a"]}')).status).toBe(202);
});

test('what an event or a call step brings is not held to it', async () => {
  expect((await gateway.ran('outer')).result!.result).toEqual({ people: 1 });
  const { job_id } = await gateway.finished('source/handle');
  const run = await until('the event has started a run', async () =>
    (await gateway.tree(job_id)).find(({ plugin }) => plugin === 'pipeline'),
  );
  expect((await gateway.settled(run.job_id)).result!.result).toEqual({ people: 7 });
});

type Operation = { readonly operationId: string; readonly summary: string; readonly [field: string]: unknown };
type Document = { readonly paths: { readonly [path: string]: { readonly post: Operation } } };
const open = (path: string) => gateway.call('GET', path, undefined, { token: null });

test('/openapi-pipelines.json has a call of each pipeline, with its schema as that of the payload', async () => {
  const { status, body, headers } = await open('/openapi-pipelines.json');
  expect([status, headers.get('ETag') !== null]).toEqual([200, true]);
  const { paths } = body as unknown as Document;
  expect(Object.keys(paths)).toEqual(['/pipeline/greet', '/pipeline/wait', '/pipeline/outer', '/pipeline/plain']);
  const { post: greet } = paths['/pipeline/greet']!;
  expect(greet).toMatchObject({ operationId: 'pipeline__greet', summary: 'Greets them all.', tags: ['greet'] });
  expect(greet['requestBody']).toMatchObject({
    content: { 'application/json': { schema: { properties: { payload: inputSchema } } } },
  });
  expect(Object.keys(greet['responses'] as object)).toEqual(['200', '202', '400', '403']);
  const { post: wait } = paths['/pipeline/wait']!;
  expect(Object.keys(wait['responses'] as object)).toEqual(['200', '202', '400', '403']);
  expect(wait).toMatchObject({
    summary: 'pipeline: wait',
    parameters: [
      { name: 'async', in: 'query' },
      { name: 'wait', in: 'query' },
    ],
  });
  expect(paths['/pipeline/plain']!.post).not.toHaveProperty('requestBody');
});

test('/pipeline/{name}/openapi.json has one pipeline, and is 404 for one that is unknown', async () => {
  const { body } = await open('/pipeline/plain/openapi.json');
  expect(Object.keys((body as unknown as Document).paths)).toEqual(['/pipeline/plain']);
  const { status, body: said } = await open('/pipeline/plane/openapi.json');
  expect([status, said['code']]).toEqual([404, 'unknown_pipeline']);
});

test('/openapi-control.json has every other route', async () => {
  expect((await open('/openapi-control.json')).status).toBe(401);
  const { body } = await gateway.call('GET', '/openapi-control.json');
  const { paths } = body as unknown as Document;
  for (const path of ['/jobs', '/job/{job_id}', '/system/reload', '/vault/secret', '/events', '/']) {
    expect(Object.keys(paths)).toContain(path);
  }
  expect(Object.keys(paths)).not.toContain('/plugin/{plugin}/{command}');
  expect(Object.keys(paths['/pipeline/{pipeline}']!)).toEqual(['get']);
});

test('/openapi-control.json says which bodies are required, and calls without them are refused', async () => {
  const { paths } = (await gateway.call('GET', '/openapi-control.json')).body as unknown as Document;
  const needed = Object.entries(paths).flatMap(([path, { post }]) => {
    const { required } = (post?.['requestBody'] ?? {}) as { required?: boolean };
    return required && !path.startsWith('/vault/') ? [path] : [];
  });
  expect(needed).toEqual([
    '/plugin/{plugin}/{command}/batch',
    '/pipeline/{pipeline}/batch',
    '/actions',
    '/schedule/{id}/backfill',
    '/ui/session',
  ]);
  for (const path of ['/plugin/teller/handle/batch', '/pipeline/plain/batch', '/actions', '/ui/session'])
    expect([path, (await gateway.call('POST', path)).status]).toEqual([path, 400]);
});
