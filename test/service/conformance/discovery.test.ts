// Section 4.3 of sentences.ts: discovery, without authentication.
import { expect, test } from 'vitest';
import { shareGateway } from '../gateway/gateway.ts';
import { settings, sum, text, whole } from './service.ts';

const gateway = shareGateway(settings);

const get = (path: string) => gateway.call('GET', path, undefined, { token: null });

type Document = {
  readonly paths: { readonly [path: string]: { readonly post: { readonly [field: string]: unknown } } };
};

/** The operations of the scoped document, by command. */
async function operationsOf(plugin: string) {
  const { paths } = (await get(`/plugin/${plugin}/openapi.json`)).body as Document;
  return Object.fromEntries(Object.entries(paths).map(([path, { post }]) => [path.split('/').at(-1)!, post]));
}

const commands = Object.keys(settings.plugins).flatMap(plugin => {
  const names = plugin === 'echo' ? ['handle', 'look', 'measure'] : ['handle'];
  return names.map(name => `/plugin/${plugin}/${name}`);
});

test('discovery needs no authentication', async () => {
  const paths = ['/', '/healthz', '/plugins', '/skills', '/openapi.json', '/plugin/echo/openapi.json'];
  for (const path of [...paths, '/.well-known/ai-plugin.json']) {
    expect({ path, status: (await get(path)).status }).toEqual({ path, status: 200 });
    expect((await gateway.call('GET', path, undefined, { token: 'unheard-of' })).status).toBe(200);
  }
});

test('GET / has name, description, uptime_seconds and the discovery paths', async () => {
  const { body } = await get('/');
  expect(body).toEqual({
    ...{ name: text, description: text, uptime_seconds: whole },
    discovery: {
      ...{ health: text, skills: text, plugins: text, openapi: text, ai_plugin: text },
      ...{ openapi_pipelines: text, openapi_control: text },
    },
  });
  const { openapi_control: control, ...open } = body['discovery'] as { readonly [name: string]: string };
  for (const path of Object.values(open)) expect((await get(path)).status).toBe(200);
  expect((await get(control!)).status).toBe(401);
  expect((await gateway.call('GET', control!)).status).toBe(200);
});

test('GET /healthz has status, uptime, queue depth, number of plugins, paths and version', async () => {
  expect((await get('/healthz')).body).toEqual({
    ...{
      status: text,
      uptime_seconds: whole,
      queue_depth: whole,
      plugins_loaded: Object.keys(settings.plugins).length,
    },
    ...{ config_path: text, binary_path: text, version: text },
  });
});

test('GET /plugins lists plugins with the names of their commands', async () => {
  const { plugins } = (await get('/plugins')).body as { plugins: { name: string; commands: string[] }[] };
  for (const plugin of plugins) expect(plugin).toMatchObject({ version: text, description: text });
  const found = plugins.flatMap(({ name, commands }) => commands.map(command => `/plugin/${name}/${command}`));
  expect(found.sort()).toEqual(commands.toSorted());
});

test('GET /skills lists every plugin command and every pipeline', async () => {
  const { skills } = (await get('/skills')).body as { skills: { endpoint: string; kind: string }[] };
  const pipelines = settings.pipelines.map(({ name }) => `/pipeline/${name}`);
  expect(skills.map(({ endpoint }) => endpoint).sort()).toEqual([...commands, ...pipelines].sort());
  for (const { endpoint, kind } of skills) expect(endpoint.split('/')[1]).toBe(kind);
});

test('GET /openapi.json covers every discovered plugin command', async () => {
  const { body } = await get('/openapi.json');
  expect(body).toMatchObject({ openapi: '3.1.0', info: { title: text, version: text } });
  expect(Object.keys((body as Document).paths).sort()).toEqual(commands.toSorted());
});

test('GET /plugin/{name}/openapi.json covers one plugin', async () => {
  const { body } = await get('/plugin/echo/openapi.json');
  expect(Object.keys((body as Document).paths)).toEqual(commands.filter(path => path.startsWith('/plugin/echo/')));
});

test('GET /plugin/{name}/openapi.json is 404 when the plugin is not found', async () => {
  for (const name of ['nobody', 'ECHO', 'constructor'])
    expect((await get(`/plugin/${name}/openapi.json`)).status).toBe(404);
});

test('GET /.well-known/ai-plugin.json has schema_version, names and descriptions for humans and models', async () => {
  expect((await get('/.well-known/ai-plugin.json')).body).toMatchObject({
    ...{ schema_version: 'v1', name_for_human: text, name_for_model: text },
    ...{ description_for_human: text, description_for_model: text },
  });
});

test('the discovery manifest has bearer auth, and the path of the global OpenAPI document', async () => {
  const { auth, api } = (await get('/.well-known/ai-plugin.json')).body as { auth: object; api: { url: string } };
  expect([auth, api]).toEqual([{ type: 'bearer' }, { type: 'openapi', url: '/openapi.json' }]);
  expect((await get(api.url)).status).toBe(200);
});

test('a scoped document has openapi, info, paths and the security scheme BearerAuth', async () => {
  expect((await get('/plugin/echo/openapi.json')).body).toMatchObject({
    openapi: '3.1.0',
    info: { title: text, version: text },
    paths: expect.any(Object),
    components: { securitySchemes: { BearerAuth: { type: 'http', scheme: 'bearer' } } },
  });
});

test('a plugin command is a post operation at /plugin/{plugin}/{command}', async () => {
  const { paths } = (await get('/plugin/echo/openapi.json')).body as Document;
  expect(Object.keys(paths)).toContain('/plugin/echo/look');
  for (const operations of Object.values(paths)) expect(Object.keys(operations)).toEqual(['post']);
});

test('operationId has the form <plugin>__<command>', async () => {
  for (const [name, { operationId }] of Object.entries(await operationsOf('echo')))
    expect(operationId).toBe(`echo__${name}`);
});

test('an operation has summary, tags, security and the responses 202, 400 and 403', async () => {
  for (const operation of Object.values(await operationsOf('echo'))) {
    expect(operation).toMatchObject({ summary: text, tags: ['echo'], security: [{ BearerAuth: [] }] });
    expect(Object.keys(operation['responses'] as object)).toEqual(['202', '400', '403']);
  }
});

test('requestBody is application/json, not required, with the input schema of the command', async () => {
  const { measure } = await operationsOf('echo');
  expect(measure!['requestBody']).toMatchObject({
    required: false,
    content: { 'application/json': { schema: { properties: { payload: sum } } } },
  });
});

test('requestBody is omitted when the manifest has no input schema', async () => {
  const { handle, look } = await operationsOf('echo');
  for (const operation of [handle, look]) expect(operation).not.toHaveProperty('requestBody');
});

test('summary is <plugin>: <command> when the command has no description', async () => {
  const { handle, look } = await operationsOf('echo');
  expect([handle!['summary'], look!['summary']]).toEqual(['echo: handle', 'Evaluations.']);
});
