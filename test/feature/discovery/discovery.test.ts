// Discovery over real HTTP (docs/contract.md#discovery), and GET /plugin/{name}.
import { describe, expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';

const sum = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };
const found = { type: 'object', properties: { name: { type: 'string' } } };
/** What a manifest says of a command `look`, as documents show it. */
const lookMembers = { input_schema: sum, output_schema: found, idempotent: true };

const gateway = shareGateway({
  service: { name: 'test service' },
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'ro', token: 'token-that-may-read', scopes: ['plugin:ro'] },
        { name: 'rw', token: 'token-that-may-write', scopes: ['plugin:rw'] },
        { name: 'jobs', token: 'token-for-jobs-only', scopes: ['jobs:rw'] },
      ],
    },
  },
  plugins: {
    zeta: {
      description: 'The last.',
      commands: {
        look: { type: 'read', description: 'Evaluations.', ...lookMembers, output_schema: { name: 'string' } },
      },
      code: 'export const handle = () => ({ result: 1 }); \nexport const look = () => ({ result: 2 });',
    },
    alpha: 'export const handle = () => ({ result: 0 });',
  },
  instances: { gone: { uses: 'alpha', enabled: false } },
  pipelines: [
    { name: 'plain', on: 'a.b', steps: [{ uses: 'alpha' }] },
    { name: 'waiting', on: 'c.d', execution_mode: 'synchronous', timeout_secs: 5, steps: [{ uses: 'alpha' }] },
    { name: 'hooked', on_hook: 'job.failed', steps: [{ uses: 'alpha' }] },
    { name: 'bare', steps: [{ uses: 'alpha' }] },
  ],
});

type Paths = { readonly [name: string]: string };
const get = async (path: string, headers: { readonly [name: string]: string } = {}) =>
  gateway.call('GET', path, undefined, { token: null, headers });

describe('GET /', () => {
  test('has name, description, uptime_seconds and the discovery paths', async () => {
    const { status, body } = await get('/');
    expect([status, body]).toEqual([
      200,
      {
        name: 'test service',
        description: expect.any(String),
        uptime_seconds: expect.any(Number),
        discovery: {
          health: '/healthz',
          skills: '/skills',
          plugins: '/plugins',
          openapi: '/openapi.json',
          openapi_pipelines: '/openapi-pipelines.json',
          openapi_control: '/openapi-control.json',
          ai_plugin: '/.well-known/ai-plugin.json',
        },
      },
    ]);
    expect(Number.isInteger(body['uptime_seconds'])).toBe(true);
  });

  test('every path of it answers without a token, but for the control document, which takes any', async () => {
    const { openapi_control: control, ...open } = (await get('/')).body['discovery'] as Paths;
    for (const path of Object.values(open)) expect((await get(path)).status, path).toBe(200);
    expect((await get(control!)).status).toBe(401);
    const { status, body } = await gateway.call('GET', control!, undefined, { token: 'token-for-jobs-only' });
    expect([status, body['openapi']]).toEqual([200, '3.1.0']);
  });
});

test('GET /healthz carries the version of the running service', async () => {
  const { body } = await get('/healthz');
  expect(body).toEqual({
    status: 'ok',
    uptime_seconds: expect.any(Number),
    queue_depth: 0,
    plugins_loaded: 2,
    config_path: `${gateway.directory}/config.yaml`,
    binary_path: expect.stringMatching(/main\.js$/),
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
  });
});

test('GET /plugins lists name, version, description and the names of the commands; a disabled plugin is absent', async () => {
  const { body } = await get('/plugins');
  expect(body).toEqual({
    plugins: [
      { name: 'alpha', version: '1.0.0', description: '', commands: ['handle'] },
      { name: 'zeta', version: '1.0.0', description: 'The last.', commands: ['handle', 'look'] },
    ],
  });
});

test('GET /skills has an entry for every plugin command and every pipeline', async () => {
  const { body } = await get('/skills');
  const command = (plugin: string, name: string, tier: string, description: string) => ({
    name: `plugin.${plugin}.${name}`,
    kind: 'plugin',
    description,
    endpoint: `/plugin/${plugin}/${name}`,
    tier,
    plugin,
    command: name,
  });
  const pipeline = (name: string, more: object) => ({
    name: `pipeline.${name}`,
    kind: 'pipeline',
    endpoint: `/pipeline/${name}`,
    pipeline: name,
    execution_mode: 'asynchronous',
    timeout_secs: 30,
    ...more,
  });
  expect(body).toEqual({
    skills: [
      command('alpha', 'handle', 'WRITE', 'alpha: handle'),
      command('zeta', 'handle', 'WRITE', 'zeta: handle'),
      { ...command('zeta', 'look', 'READ', 'Evaluations.'), ...lookMembers },
      pipeline('plain', { trigger: 'a.b' }),
      pipeline('waiting', { trigger: 'c.d', execution_mode: 'synchronous', timeout_secs: 5 }),
      pipeline('hooked', { trigger: 'job.failed' }),
      pipeline('bare', {}),
    ],
  });
});

test('GET /.well-known/ai-plugin.json is the manifest, with schema_version v1', async () => {
  const { body } = await get('/.well-known/ai-plugin.json');
  expect(body).toEqual({
    schema_version: 'v1',
    name_for_human: 'test service',
    name_for_model: 'test_service',
    description_for_human: expect.any(String),
    description_for_model: expect.any(String),
    auth: { type: 'bearer' },
    api: { type: 'openapi', url: '/openapi.json' },
  });
});

describe('the OpenAPI documents', () => {
  test('/openapi.json covers every plugin command; the document of a plugin only its own', async () => {
    const all = (await get('/openapi.json')).body;
    const one = (await get('/plugin/zeta/openapi.json')).body;
    expect(Object.keys(all['paths'] as object)).toEqual([
      '/plugin/alpha/handle',
      '/plugin/zeta/handle',
      '/plugin/zeta/look',
    ]);
    expect(Object.keys(one['paths'] as object)).toEqual(['/plugin/zeta/handle', '/plugin/zeta/look']);
    expect(one).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'zeta', version: '1.0.0' },
      servers: [{ url: '/' }],
      components: { securitySchemes: { BearerAuth: { type: 'http', scheme: 'bearer' } } },
    });
  });

  test('an operation has operationId, summary, tags, requestBody, responses and security', async () => {
    const { paths } = (await get('/plugin/zeta/openapi.json')).body as { paths: { [path: string]: { post: object } } };
    const post = paths['/plugin/zeta/look']!.post as { responses: object };
    expect(post).toEqual({
      operationId: 'zeta__look',
      summary: 'Evaluations.',
      tags: ['zeta'],
      requestBody: {
        required: false,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: {
                payload: sum,
                run_at: { $ref: '#/components/schemas/RunAt' },
                delay: { $ref: '#/components/schemas/Delay' },
                expires: { $ref: '#/components/schemas/Expires' },
                deadline: { $ref: '#/components/schemas/Deadline' },
                tags: { $ref: '#/components/schemas/Tags' },
              },
              additionalProperties: false,
            },
          },
        },
      },
      responses: expect.anything(),
      security: [{ BearerAuth: [] }],
    });
    expect(Object.keys(post.responses)).toEqual(['202', '400', '403']);
    const bare = paths['/plugin/zeta/handle']!.post;
    expect(bare).toMatchObject({ summary: 'zeta: handle' });
    expect(bare).not.toHaveProperty('requestBody');
  });

  test.each(['nobody', 'gone', 'constructor', '__proto__', 'toString'])('there is none of %s: 404', async name => {
    expect(await get(`/plugin/${name}/openapi.json`)).toMatchObject({ status: 404, body: { code: 'unknown_plugin' } });
  });
});

const documents = ['/plugins', '/skills', '/openapi.json', '/plugin/zeta/openapi.json', '/.well-known/ai-plugin.json'];

describe.each(documents)('the ETag of %s', path => {
  test('stays, and whoever has it is answered 304 without a body', async () => {
    const first = await get(path);
    const etag = first.headers.get('ETag')!;
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect(first.headers.get('Cache-Control')).toBe('no-cache');
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const { status, headers, body } = await get(path, { 'If-None-Match': known });
      expect([status, headers.get('ETag'), body]).toEqual([304, etag, { text: '' }]);
      expect([headers.get('Content-Type'), headers.get('Content-Length')]).toEqual([null, null]);
      expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
    }
    const other = await get(path, { 'If-None-Match': '"x"' });
    expect([other.status, other.body]).toEqual([200, first.body]);
  });

  test('HEAD tells it too', async () => {
    const head = await gateway.call('HEAD', path, undefined, { token: null });
    expect([head.status, head.headers.get('ETag')]).toEqual([200, (await get(path)).headers.get('ETag')]);
  });
});

describe('GET /plugin/{name}', () => {
  const as = (token: string | null, name = 'zeta') => gateway.call('GET', `/plugin/${name}`, undefined, { token });

  test('has name, version, description, protocol and the commands as objects', async () => {
    expect((await as('token-that-may-read')).body).toEqual({
      name: 'zeta',
      version: '1.0.0',
      description: 'The last.',
      protocol: 2,
      commands: [
        { name: 'handle', type: 'write', description: 'zeta: handle' },
        { name: 'look', type: 'read', description: 'Evaluations.', ...lookMembers },
      ],
    });
  });

  test.each([
    [null, 401],
    ['token-for-jobs-only', 403],
    ['token-that-may-read', 200],
    ['token-that-may-write', 200],
    [everythingToken, 200],
  ] as const)('for %s: %i', async (token, status) => {
    expect((await as(token)).status).toBe(status);
  });

  test('a name that is no plugin is 404, and 403 for who has no plugin scope', async () => {
    for (const name of ['nobody', 'gone', 'constructor', 'hasOwnProperty']) {
      expect((await as('token-that-may-read', name)).status).toBe(404);
      expect((await as('token-for-jobs-only', name)).status).toBe(403);
    }
  });
});
