// OpenAPI documents (interface, 4.3): the commands of plugins as operations of a 3.1 document. Pure.
import type { Command, Config, PluginInstance } from '../../config/config.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { commandDescription } from './description.ts';
import { embedSchema } from './references.ts';
import { accepted, problemDetails } from './schemas.ts';

export type DocumentOf = {
  readonly title: string;
  readonly version: string;
  readonly plugins: readonly PluginInstance[];
  readonly operationIds: OperationIds;
};

export function openapiDocument({ title, version, plugins, operationIds }: DocumentOf): JsonObject {
  const schemas: { [name: string]: JsonObject } = {};
  const paths: { [path: string]: JsonObject } = {};
  for (const plugin of plugins) {
    for (const command of plugin.manifest.commands) {
      const operationId = operationIds.get(plugin.name)!.get(command.name)!;
      const body = requestBody(command, operationId, schemas);
      paths[`/plugin/${plugin.name}/${command.name}`] = { post: operation(plugin, command, operationId, body) };
    }
  }
  return {
    openapi: '3.1.0',
    info: { title, version },
    // Wherever the document was fetched from.
    servers: [{ url: '/' }],
    paths,
    components: {
      ...(plugins.length === 0 ? {} : { schemas: { ...schemas, AcceptedJob: accepted, Problem: problemDetails } }),
      securitySchemes: { BearerAuth: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operation(plugin: PluginInstance, command: Command, operationId: string, body: JsonObject): JsonObject {
  const refused = (description: string): JsonObject => ({
    description,
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  });
  return {
    operationId,
    summary: commandDescription(plugin, command),
    tags: [plugin.name],
    ...body,
    responses: {
      '202': {
        description: 'The job is on disk.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/AcceptedJob' } } },
      },
      '400': refused('The body or its payload is not what it should be; nothing was enqueued.'),
      '403': refused(`The token lacks the scope for a ${command.type} command.`),
    },
    security: [{ BearerAuth: [] }],
  };
}

/** The body as the route takes it. */
function requestBody(command: Command, operationId: string, schemas: { [name: string]: JsonObject }): JsonObject {
  if (command.inputSchema === null) return {};
  const { schema: payload, components } = embedSchema(command.inputSchema, operationId);
  Object.assign(schemas, components);
  const schema = { type: 'object', properties: { payload }, additionalProperties: false };
  return { requestBody: { required: false, content: { 'application/json': { schema } } } };
}

/** Plugin → command → id. */
export type OperationIds = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** `<plugin>__<command>`, with a number where two of a configuration would be the same (`a` `b__c`, `a__b` `c`). */
export function operationIdsOf(config: Config): OperationIds {
  const plugins = Object.values(config.plugins);
  const plain = plugins.flatMap(({ name, manifest }) => manifest.commands.map(command => `${name}__${command.name}`));
  const taken = new Set<string>();
  const unique = (id: string): string => {
    let unused = id;
    for (let n = 2; taken.has(unused) || (n > 2 && plain.includes(unused)); n++) unused = `${id}__${n}`;
    taken.add(unused);
    return unused;
  };
  return new Map(
    plugins.map(({ name, manifest }) => {
      const ids = manifest.commands.map(command => [command.name, unique(`${name}__${command.name}`)] as const);
      return [name, new Map(ids)] as const;
    }),
  );
}
