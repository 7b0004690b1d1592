// Makes the OpenAPI documents of plugins (docs/contract.md#discovery), with one operation per command.
import type { Command, Config, PluginInstance } from '../../config/config.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { optionMembers } from '../options.ts';
import { commandDescription } from './description.ts';
import { answeredWith, byToken, component, type OpenapiSchemas, refusedWith, wholeDocument } from './parts.ts';
import { embedSchema } from './references.ts';
import { accepted } from './schemas.ts';

/** The options of a call, each with the name of its schema component in the document. */
const optionTitles = {
  run_at: 'RunAt',
  delay: 'Delay',
  expires: 'Expires',
  deadline: 'Deadline',
  tags: 'Tags',
} as const;
type CallOption = keyof typeof optionTitles;

export function openapiDocument(
  title: string,
  version: string,
  plugins: readonly PluginInstance[],
  operationIds: OperationIds,
): JsonObject {
  const schemas: OpenapiSchemas = {};
  const paths: { [path: string]: JsonObject } = {};
  for (const plugin of plugins) {
    for (const command of plugin.manifest.commands) {
      const operationId = operationIds.get(plugin.name)!.get(command.name)!;
      const body = requestBody(command.inputSchema, operationId, schemas);
      paths[`/plugin/${plugin.name}/${command.name}`] = { post: operation(plugin, command, operationId, body) };
    }
  }
  return wholeDocument(title, version, paths, { ...schemas, AcceptedJob: accepted });
}

function operation(plugin: PluginInstance, command: Command, operationId: string, body: JsonObject): JsonObject {
  return {
    operationId,
    summary: commandDescription(plugin, command),
    tags: [plugin.name],
    ...body,
    responses: {
      '202': answeredWith('The job is on disk.', component('AcceptedJob')),
      '400': refusedWith('The body or its payload is invalid; nothing was enqueued.'),
      '403': refusedWith(`The token lacks the scope for a ${command.type} command.`),
    },
    security: byToken,
  };
}

/**
 * The request body of a call: an object with the payload and the options of the call. Empty if the payload has no schema. Adds the
 * components of the schema and of the options to `schemas`.
 */
export function requestBody(inputSchema: JsonObject | null, operationId: string, schemas: OpenapiSchemas): JsonObject {
  if (inputSchema === null) return {};
  const { schema: payload, components } = embedSchema(inputSchema, operationId, schemas);
  Object.assign(schemas, components);
  const properties: { [name: string]: JsonObject } = { payload };
  for (const [name, title] of Object.entries(optionTitles) as [CallOption, string][]) {
    schemas[title] = optionMembers[name];
    properties[name] = component(title);
  }
  const schema = { type: 'object', properties, additionalProperties: false };
  return { requestBody: { required: false, content: { 'application/json': { schema } } } };
}

/** The operation ids, by plugin and then by command. */
export type OperationIds = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * The operation ids `<plugin>__<command>`. If an id is already taken, a number is appended. For example, the command `b__c` of the plugin `a`
 * and the command `c` of the plugin `a__b` would both have the id `a__b__c`.
 */
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
