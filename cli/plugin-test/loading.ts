// Checks that the files of worker plugins load and have a function for each command, in the same kind of host as the service's. No command
// runs: each gets an input schema that accepts nothing, and the host loads the code before it refuses the payload.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { hostPlugin } from '../../actors/job/dispatch/host-plugin.ts';
import type { Config } from '../../config/config.ts';
import type { HostedPlugin } from '../../runtime/host/wire/plugin-host.ts';
import { PayloadChecks } from '../../runtime/host/wire/schema.ts';
import { PluginHarness } from './harness.ts';

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
        problems.push(`${placeIn(join(plugin.directory, plugin.entrypoint))}: plugins.${plugin.instance}: ${error}`);
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

/** `file:line:column`, with the line of a syntax error if Node reports one. */
function placeIn(file: string): string {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8', timeout: deadlineMs });
  const line = stderr?.startsWith(`${file}:`) ? /^\d+/.exec(stderr.slice(file.length + 1)) : null;
  return `${file}:${line ?? 1}:1`;
}
