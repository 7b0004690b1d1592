// Discovery (docs/contract.md#discovery): the routes that describe the service, its plugins and its pipelines.

import { Type } from '../../runtime/schema-type.ts';
import { answerDocument } from '../cached-document.ts';
import { controlDocument } from '../openapi/control.ts';
import { optionalMembers } from '../openapi/description.ts';
import { openapiDocument, operationIdsOf } from '../openapi/document.ts';
import { pipelinesDocument } from '../openapi/pipelines.ts';
import { counted, oneOfTexts } from '../openapi/schemas.ts';
import { skillsOf } from '../openapi/skills.ts';
import type { HttpProblem, ProblemCode } from '../problem.ts';
import { anyToken, type HttpCall, json, open, type Params, type Route, type RouteAccess, route } from '../route.ts';
import { findPipeline } from './execution.ts';
import { findPlugin } from './plugins.ts';

const section = 'Discovery';
const openapiPath = '/openapi.json';
const description = 'A job-execution gateway: plugins and pipelines as durable jobs.';

const discovery = {
  health: '/healthz',
  skills: '/skills',
  plugins: '/plugins',
  openapi: openapiPath,
  openapi_pipelines: '/openapi-pipelines.json',
  openapi_control: '/openapi-control.json',
  ai_plugin: '/.well-known/ai-plugin.json',
} as const;

const startSchema = Type.Object({
  name: Type.String({ description: '`service.name` of the configuration.' }),
  description: Type.String(),
  uptime_seconds: Type.Integer(),
  discovery: Type.Object({
    health: Type.String(),
    skills: Type.String(),
    plugins: Type.String(),
    openapi: Type.String({ description: 'The document of all plugin commands.' }),
    openapi_pipelines: Type.String({ description: 'The document of all pipelines.' }),
    openapi_control: Type.String({ description: 'The document of all other routes; it requires a token.' }),
    ai_plugin: Type.String(),
  }),
});

const getStart = route({
  method: 'GET',
  path: '/',
  section,
  summary: 'Describes the service and lists its discovery documents.',
  access: open,
  answers: { 200: { description: 'The service and its discovery paths.', schema: startSchema } },
  handle(call) {
    const { name } = call.config.service;
    return json(200, JSON.stringify({ name, description, uptime_seconds: uptimeSeconds(call), discovery }));
  },
});

const healthSchema = Type.Object({
  status: oneOfTexts(['ok', 'stopping']),
  uptime_seconds: Type.Integer(),
  queue_depth: counted('Jobs that could run now or wait for a retry. Held and paused jobs are not counted.'),
  plugins_loaded: Type.Integer(),
  config_path: Type.String(),
  binary_path: Type.String(),
  version: Type.String(),
});

const getHealth = route({
  method: 'GET',
  path: '/healthz',
  section,
  summary: 'Reports the health of the service.',
  access: open,
  answers: { 200: { description: 'The service runs.', schema: healthSchema } },
  handle(call) {
    const { engine, config } = call;
    const health = {
      status: engine.stopping() ? 'stopping' : 'ok',
      uptime_seconds: uptimeSeconds(call),
      queue_depth: engine.queueDepth(),
      plugins_loaded: Object.keys(config.plugins).length,
      config_path: config.mainFile,
      binary_path: process.argv[1] ?? process.execPath,
      version: engine.version,
    };
    return json(200, JSON.stringify(health));
  },
});

const skillSchema = Type.Union([
  Type.Object({
    name: Type.String({ description: '`plugin.<plugin>.<command>`' }),
    kind: Type.Literal('plugin'),
    description: Type.String(),
    endpoint: Type.String(),
    tier: oneOfTexts(['READ', 'WRITE']),
    plugin: Type.String(),
    command: Type.String(),
    ...optionalMembers,
  }),
  Type.Object({
    name: Type.String({ description: '`pipeline.<pipeline>`' }),
    kind: Type.Literal('pipeline'),
    description: Type.Optional(Type.String({ description: 'Absent if the configuration has none.' })),
    endpoint: Type.String(),
    pipeline: Type.String(),
    trigger: Type.Optional(Type.String({ description: 'The event or hook that starts it, if there is one.' })),
    execution_mode: oneOfTexts(['synchronous', 'asynchronous']),
    timeout_secs: Type.Integer(),
    input_schema: optionalMembers.input_schema,
  }),
]);

const unchanged = { description: 'The client has the current version (If-None-Match).', schema: null };

const documentSchema = Type.Object({}, { description: 'An OpenAPI document, version 3.1.0.' });

type DocumentOf<P extends string, F> = {
  readonly path: P;
  readonly summary: string;
  readonly access?: RouteAccess;
  readonly problems?: readonly ProblemCode[];
  /** Default: an OpenAPI document. */
  readonly answer?: Route['answers'][number];
  find?(call: HttpCall<Params<P>>): F | HttpProblem;
  /** Makes the document. Called at most once per configuration and path. */
  make(call: HttpCall<Params<P>, unknown, F>): object;
};

function documentRoute<const P extends string, F>({ make, answer, ...declared }: DocumentOf<P, F>): Route {
  return route<P, F>({
    method: 'GET',
    section,
    access: open,
    answers: { 200: answer ?? { description: 'The document.', schema: documentSchema }, 304: unchanged },
    ...declared,
    handle: call => answerDocument(call, `${declared.path} ${JSON.stringify(call.params)}`, () => make(call)),
  });
}

const getSkills = documentRoute({
  path: discovery.skills,
  summary: 'Lists everything that can be run: the commands of all plugins, and all pipelines.',
  answer: { description: 'The skills.', schema: Type.Object({ skills: Type.Array(skillSchema) }) },
  make: ({ config }) => ({ skills: skillsOf(config) }),
});

const getDocument = documentRoute({
  path: openapiPath,
  summary: 'Returns the OpenAPI document of all plugin commands.',
  make: ({ config, engine: { version } }) =>
    openapiDocument(config.service.name, version, Object.values(config.plugins), operationIdsOf(config)),
});

const getPluginDocument = documentRoute({
  path: '/plugin/{name}/openapi.json',
  summary: 'Returns the OpenAPI document of one plugin.',
  problems: ['unknown_plugin'],
  find: ({ config, params }) => findPlugin(config, params.name, null),
  make: ({ config, found }) => openapiDocument(found.name, found.manifest.version, [found], operationIdsOf(config)),
});

const getPipelinesDocument = documentRoute({
  path: discovery.openapi_pipelines,
  summary: 'Returns the OpenAPI document of all pipelines.',
  make: ({ config, engine }) => pipelinesDocument(config.service.name, engine.version, config.pipelines),
});

const getPipelineDocument = documentRoute({
  path: '/pipeline/{name}/openapi.json',
  summary: 'Returns the OpenAPI document of one pipeline.',
  problems: ['unknown_pipeline'],
  find: ({ config, params }) => findPipeline(config, params.name),
  make: ({ engine, found }) => pipelinesDocument(found.name, engine.version, [found]),
});

/** `routes` returns all routes of the API. It is a function because this route is one of them, so the list is complete only later. */
export function controlDocumentRoute(routes: () => readonly Route[]): Route {
  return documentRoute({
    path: discovery.openapi_control,
    summary: 'Returns the OpenAPI document of all routes except calls of plugins and pipelines.',
    access: anyToken,
    make: ({ config, engine }) => controlDocument(config.service.name, engine.version, routes()),
  });
}

const aiPluginSchema = Type.Object({
  schema_version: Type.Literal('v1'),
  name_for_human: Type.String(),
  name_for_model: Type.String({ description: 'Only letters, digits and "_".' }),
  description_for_human: Type.String(),
  description_for_model: Type.String(),
  auth: Type.Object({ type: Type.Literal('bearer') }),
  api: Type.Object({ type: Type.Literal('openapi'), url: Type.String() }),
});

const getAiPlugin = documentRoute({
  path: discovery.ai_plugin,
  summary: 'Returns the discovery manifest for agents.',
  answer: { description: 'The manifest.', schema: aiPluginSchema },
  make: ({ config }) => aiPlugin(config.service.name),
});

export const discoveryRoutes: readonly Route[] = [
  getStart,
  getHealth,
  getSkills,
  getDocument,
  getPluginDocument,
  getPipelinesDocument,
  getPipelineDocument,
  getAiPlugin,
];

export function uptimeSeconds({ engine }: Pick<HttpCall, 'engine'>): number {
  return Math.floor(engine.upMs() / 1000);
}

function aiPlugin(name: string) {
  return {
    schema_version: 'v1',
    name_for_human: name,
    name_for_model: name.replace(/\W/g, '_'),
    description_for_human: description,
    description_for_model:
      `Runs commands of plugins, and pipelines of them, as durable jobs. ${discovery.skills} lists what can be run. ` +
      'A call returns a job_id; GET /job/{job_id} returns the status and result of the job.',
    auth: { type: 'bearer' },
    api: { type: 'openapi', url: openapiPath },
  };
}
