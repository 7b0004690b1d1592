// The command `headgate pipeline run`, which runs a pipeline. It prints the result, or the ids of runs for which it does not wait.
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
