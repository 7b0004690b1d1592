// Plugins: the list, which is open, and one plugin with its commands, for API tokens that may call plugins.

import { type Config, instanceNamed, type PluginInstance } from '../../config/config.ts';
import { Type } from '../../runtime/schema-type.ts';
import { type Caller, may } from '../auth.ts';
import { answerDocument } from '../cached-document.ts';
import { commandDescription, optionalMembers, optionalMembersOf } from '../openapi/description.ts';
import { oneOfTexts } from '../openapi/schemas.ts';
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
  type: oneOfTexts(['read', 'write']),
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
  find: ({ config, params, caller }) => findPlugin(config, params.name, caller),
  handle: ({ found }) => json(200, JSON.stringify(pluginDetail(found))),
});

export const pluginRoutes: readonly Route[] = [getPlugins, getPlugin];

/** The plugin instance of this name, or 404. A caller who may call the doctor learns of a plugin that was found but is not loaded. */
export function findPlugin(config: Config, name: string, caller: Caller | null): PluginInstance | HttpProblem {
  const plugin = instanceNamed(config, name);
  if (plugin !== undefined) return plugin;
  const isUnusable = config.unusablePlugins.includes(name) && caller !== null && may(caller, ['system:ro']);
  const why = isUnusable ? ': it is not loaded; the check plugins of the doctor says why' : '';
  return problem('unknown_plugin', `there is no plugin ${JSON.stringify(name)}${why}`);
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
