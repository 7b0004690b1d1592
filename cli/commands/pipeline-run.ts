// `headgate pipeline run`.
import { type CallOptions, callAndWait, callOptions, callStatuses } from '../client/call.ts';
import { segment } from '../client/client.ts';
import { command } from '../command.ts';

export const pipelineRun = command<CallOptions>({
  usage: 'pipeline run <pipeline>',
  description: 'run a pipeline, and print its result once the run has ended',
  examples: [
    `headgate pipeline run greet-all --payload '{"people":["Ada","Grace"]}'`,
    'headgate pipeline run greet-all --async',
  ],
  options: callOptions(),
  statuses: callStatuses,
  // Waiting is done here, whatever the pipeline's own mode and time-out are.
  run: call => callAndWait(`/pipeline/${segment(call.args[0]!)}?async=true`, call),
});
