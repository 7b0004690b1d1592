// Reads a plugin from its directory, without a configuration.
import { hostPlugin } from '../../actors/job/dispatch/host-plugin.ts';
import { formatProblems } from '../../config/check/problem.ts';
import { composeInstance } from '../../config/plugin/instances.ts';
import { makeManifestReader } from '../../config/plugin/manifest.ts';
import { diskFiles } from '../../config/source/files.ts';
import type { HostedPlugin } from '../../runtime/host/wire/plugin-host.ts';
import { makeSchemaCompiler } from '../../runtime/json-schema.ts';
import type { JsonObject } from '../../runtime/packing.ts';

type PluginRead =
  /** `bare`: a second instance without input schemas. */
  | { readonly ok: true; readonly plugin: HostedPlugin; readonly bare: HostedPlugin }
  /** One line for each problem. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** `file`: the path of the manifest. `config`: the config that the plugin gets. */
export function readPlugin(file: string, config: JsonObject): PluginRead {
  const { name, manifest, problems } = makeManifestReader(diskFiles, makeSchemaCompiler())(file);
  if (manifest === null) return { ok: false, problems: formatProblems(problems, [file]) };
  const missing = manifest.configKeys.required.filter(key => config[key] === undefined);
  if (missing.length > 0)
    return {
      ok: false,
      problems: [`${file}:1:1: config_keys.required: missing ${missing.join(', ')}; pass them with --plugin-config`],
    };
  const plugin = hostPlugin({ ...composeInstance(name, manifest, undefined), config });
  const commands = Object.fromEntries(Object.keys(plugin.commands).map(command => [command, { inputSchema: null }]));
  return { ok: true, plugin, bare: { ...plugin, instance: `${name}_bare`, commands } };
}
