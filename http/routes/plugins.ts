// Plugins: the list, which is open, and one plugin with its commands, for API tokens that may call plugins.

import { type Config, instanceNamed, type PluginInstance } from '../../config/config.ts';
import { Type } from '../../runtime/schema-type.ts';
import { answerDocument } from '../cached-document.ts';
import { commandDescription, optionalMembers, optionalMembersOf } from '../openapi/description.ts';
import { type HttpProblem, problem } from '../problem.ts';
import { anyOf, json, open, type Route, route } from '../route.ts';

const common = { name: Type.String(), version: Type.String(), description: Type.String() };
const listSchema = Type.Object({
  plugins: Type.Array(Type.Object({ ...common, commands: Type.Array(Type.String()) })),
});

const getPlugins = route({
  method: 'GET',
  path: '/plugins',
  section: 'Discovery',
  summary: 'Lists all plugins, by name.',
  access: open,
  answers: {
    200: { description: 'The plugins with the names of their commands.', schema: listSchema },
    304: { description: 'The client has the current version (If-None-Match).', schema: null },
  },
  handle: call =>
    answerDocument(call, 'plugins', () => ({
      plugins: Object.values(call.config.plugins).map(({ name, manifest: { version, description, commands } }) => {
        return { name, version, description, commands: commands.map(command => command.name) };
      }),
    })),
});

const commandSchema = Type.Object({
  name: Type.String(),
  type: Type.Union([Type.Literal('read'), Type.Literal('write')]),
  description: Type.String({ description: '`<plugin>: <command>` if the manifest has none.' }),
  ...optionalMembers,
});

const pluginSchema = Type.Object({ ...common, protocol: Type.Integer(), commands: Type.Array(commandSchema) });

const getPlugin = route({
  method: 'GET',
  path: '/plugin/{name}',
  section: 'Plugins',
  summary: 'Returns one plugin with its commands.',
  access: anyOf('plugin:ro', 'plugin:rw'),
  problems: ['unknown_plugin'],
  answers: { 200: { description: 'The plugin.', schema: pluginSchema } },
  find: ({ config, params }) => findPlugin(config, params.name),
  handle: ({ found }) => json(200, JSON.stringify(pluginDetail(found))),
});

export const pluginRoutes: readonly Route[] = [getPlugins, getPlugin];

/** The plugin instance of this name, or 404. */
export function findPlugin(config: Config, name: string): PluginInstance | HttpProblem {
  return instanceNamed(config, name) ?? problem('unknown_plugin', `there is no plugin ${JSON.stringify(name)}`);
}

function pluginDetail(plugin: PluginInstance): object {
  const { version, description, protocol, commands } = plugin.manifest;
  return {
    name: plugin.name,
    version,
    description,
    protocol,
    commands: commands.map(command => ({
      name: command.name,
      type: command.type,
      description: commandDescription(plugin, command),
      ...optionalMembersOf(command),
    })),
  };
}
