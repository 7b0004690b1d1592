// The command `headgate plugin run`, which runs a command of a plugin. It prints the result, or the ids of jobs for which it does not wait.
import { type CommandOptions, callAndWait, callOptions, callStatuses } from '../client/call.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';

export const pluginRun = clientCommand<CommandOptions>({
  usage: 'plugin run <plugin> <command>',
  description: 'run a command of a plugin, and print its result once the job has ended',
  examples: [
    `headgate plugin run greet handle --payload '{"name":"Ada"}'`,
    'echo \'{"name":"Ada"}\' | headgate plugin run greet handle --payload - --json',
    'headgate plugin run greet handle --batch people.ndjson',
    'headgate plugin run greet handle --delay 10m --expires 1h',
  ],
  options: callOptions(),
  statuses: callStatuses,
  run: call => callAndWait(`/plugin/${segment(call.args[0]!)}/${segment(call.args[1]!)}`, call),
});
