// The commands `headgate pipeline run` and `headgate plugin run`. They print the result, or the ids of runs or jobs for which they do not wait.
import { type CommandOptions, callAndWait, callOptions, callStatuses } from '../client/call.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';

export const pipelineRun = clientCommand<CommandOptions>({
  usage: 'pipeline run <pipeline>',
  description: 'run a pipeline, and print its result once the run has ended',
  examples: [
    `headgate pipeline run greet-all --payload '{"people":["Ada","Grace"]}'`,
    'headgate pipeline run greet-all --async',
    'headgate pipeline run greet-all --run-at 2026-12-01T06:00:00Z',
    'headgate pipeline run greet-all --batch groups.ndjson',
  ],
  options: callOptions(),
  statuses: callStatuses,
  // With `?async=true` the service answers at once, whatever the pipeline's mode is. The command itself waits for the run.
  run: call => callAndWait(`/pipeline/${segment(call.args[0]!)}`, call, '?async=true'),
});

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
