// Plugin instances as a configuration has them, for whatever runs the ledger without one.
import type { Command, PluginInstance } from '../../../../config/config.ts';

export function command(name: string, more: Partial<Command> = {}): Command {
  const plain = { description: null, inputSchema: null, outputSchema: null, idempotent: false, consume: [], emit: [] };
  return { name, type: 'write', retrySafe: true, ...plain, ...more };
}

export function plugin(
  name: string,
  more: Partial<PluginInstance> = {},
  commands: readonly Command[] = [command('handle')],
): PluginInstance {
  return {
    name,
    manifest: {
      name,
      version: '1.0.0',
      protocol: 2,
      description: '',
      dialect: 'headgate',
      runtime: 'worker',
      directory: '/plugins',
      entrypoint: '/plugins/index.js',
      concurrencySafe: true,
      commands,
      configKeys: { required: [], optional: [] },
    },
    config: {},
    parallelism: null,
    deadlineMs: Object.fromEntries(commands.map(({ name }) => [name, 1000])),
    retry: { attemptsMax: 4, backoffBaseMs: 1000, backoffMaxMs: 60_000 },
    ...more,
  };
}
