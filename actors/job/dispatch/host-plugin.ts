// A plugin instance of the configuration, in the form that a host needs.
import { relative } from 'node:path';
import type { PluginInstance } from '../../../config/config.ts';
import type { HostedPlugin } from '../../../runtime/host/wire/plugin-host.ts';

export function hostPlugin({ name, manifest, config, parallelism, sandbox }: PluginInstance): HostedPlugin {
  const { persistent } = manifest;
  return {
    instance: name,
    plugin: manifest.name,
    dialect: manifest.dialect,
    runtime: manifest.runtime,
    directory: manifest.directory,
    // Relative, unlike in the configuration: the host resolves the path in the plugin's directory, and shows it in messages.
    entrypoint: relative(manifest.directory, manifest.entrypoint),
    ...(manifest.digests === undefined ? {} : { digests: manifest.digests }),
    // A plugin that takes one job at a time must not receive the next one early.
    ...(persistent === undefined ? {} : { persistent: { ...persistent, pipelined: parallelism !== 1 } }),
    ...(sandbox === undefined ? {} : { sandbox }),
    config,
    commands: Object.fromEntries(
      manifest.commands.map(({ name: command, inputSchema, replacesState }) => [
        command,
        { inputSchema, ...(replacesState ? { replacesState } : {}) },
      ]),
    ),
  };
}
