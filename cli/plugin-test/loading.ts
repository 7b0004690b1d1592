// Checks that the files of worker plugins load and have a function for each command, in the same kind of host as the service's. No command
// runs: each gets an input schema that accepts nothing, and the host loads the code before it refuses the payload.
import { join } from 'node:path';
import { hostPlugin } from '../../actors/job/dispatch/host-plugin.ts';
import type { Config } from '../../config/config.ts';
import type { HostedPlugin } from '../../runtime/host/wire/plugin-host.ts';
import { PayloadChecks } from '../../runtime/host/wire/schema.ts';
import { PluginHarness } from './harness.ts';
import { syntaxErrorPlace } from './place.ts';

const nothing = { not: {} };
const deadlineMs = 10_000;

/**
 * Problems in the format of `config check`: one line for each worker plugin that does not load, and one for each command without a
 * function.
 */
export async function loadProblems(config: Config): Promise<string[]> {
  const plugins = Object.values(config.plugins)
    .filter(({ manifest }) => manifest.runtime === 'worker')
    .map(hostPlugin)
    .map(refusingAll);
  if (plugins.length === 0) return [];
  const refusal = (await new PayloadChecks().of(nothing))({});
  const problems: string[] = [];
  const harness = new PluginHarness(plugins, config.service.pluginEnvPassthrough);
  try {
    for (const plugin of plugins)
      for (const command of Object.keys(plugin.commands)) {
        const { error } = await harness.ask(plugin.instance, command, {}, deadlineMs);
        if (error === refusal) continue;
        const place = join(plugin.directory, syntaxErrorPlace(plugin, error) ?? `${plugin.entrypoint}:1:1`);
        problems.push(`${place}: plugins.${plugin.instance}: ${error}`);
        // If the file does not load, the plugin's other commands fail for the same reason.
        if (!error.includes('exports no function')) break;
      }
  } finally {
    await harness.close();
  }
  return problems;
}

function refusingAll(plugin: HostedPlugin): HostedPlugin {
  const commands = Object.keys(plugin.commands).map(command => [command, { inputSchema: nothing }] as const);
  return { ...plugin, commands: Object.fromEntries(commands) };
}
