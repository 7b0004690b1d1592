// The stopwatch (docs/contract.md#stopwatch): how long the steps of a plugin waited and ran, as percentiles.
import { commandStep, minuteUs, pipelineStep } from '../../actors/index/records/stopwatch.ts';
import { trendBuckets, windowOf } from '../../actors/index/views/stopwatch.ts';
import type { Config, PluginInstance } from '../../config/config.ts';
import { type Step, stepLists } from '../../config/pipeline/definition.ts';
import { Type } from '../../runtime/schema-type.ts';
import { answerRead } from '../answer.ts';
import { flag, instant } from '../query.ts';
import { anyOf, type Route, route } from '../route.ts';
import { maySeeResults } from './jobs.ts';
import { findPlugin } from './plugins.ts';

const windowUsDefault = 24 * 60 * minuteUs;

const figures = {
  sample_count: Type.Integer(),
  p50_ms: Type.Integer(),
  p95_ms: Type.Integer(),
  p99_ms: Type.Integer(),
  p50_us: Type.Integer(),
  p95_us: Type.Integer(),
  p99_us: Type.Integer(),
  max_us: Type.Integer(),
};
const spanSchema = Type.Object({ name: Type.String(), ...figures });
const stopwatchSchema = Type.Object({
  plugin: Type.String(),
  window: Type.String(),
  captured_at: Type.String({ format: 'date-time' }),
  steps: Type.Array(
    Type.Object({
      step: Type.String(),
      ...figures,
      trend_p95_ms: Type.Array(Type.Integer(), { minItems: trendBuckets, maxItems: trendBuckets }),
      subs: Type.Optional(Type.Array(spanSchema)),
    }),
  ),
  subs_unavailable: Type.Optional(Type.Literal('insufficient_scope')),
});

const getStopwatch = route({
  method: 'GET',
  path: '/stopwatch/{plugin}',
  section: 'Observation',
  summary: "Reports how long a plugin's commands and pipeline steps waited and ran.",
  access: anyOf('jobs:status:ro', 'jobs:rw'),
  query: { since: instant, include_subs: flag },
  problems: ['unknown_plugin'],
  answers: { 200: { description: 'Percentiles by step.', schema: stopwatchSchema } },
  find: ({ config, params }) => findPlugin(config, params.plugin),
  handle(call) {
    const { config, found, query } = call;
    const nowUs = call.nowMs() * 1000;
    const window = windowOf(query.since ?? nowUs - windowUsDefault, nowUs);
    const subs = query.include_subs === true ? maySeeResults(call.caller!) : null;
    const steps = stepNames(config, found);
    return answerRead(call, { kind: 'stopwatch', plugin: found.name, window, nowUs, steps, subs });
  },
});

export const stopwatchRoutes: readonly Route[] = [getStopwatch];

/**
 * The names of the plugin's steps: those of its commands, then those of pipeline steps that use the plugin, in the order of the
 * configuration.
 */
function stepNames(config: Config, { name, manifest }: PluginInstance): string[] {
  const ofCommands = manifest.commands.flatMap(({ name: command }) =>
    (['queue', 'run', 'total'] as const).map(what => commandStep(command, what)),
  );
  const ofPipelines = config.pipelines.flatMap(pipeline =>
    stepsUsing(stepLists(pipeline).flat(), name).map(stepId => pipelineStep(pipeline.name, stepId)),
  );
  return [...ofCommands, ...ofPipelines];
}

function stepsUsing(steps: readonly Step[], instance: string): string[] {
  return steps.flatMap(step => {
    if (step.kind === 'uses') return step.instance === instance ? [step.id] : [];
    if (step.kind === 'steps') return stepsUsing(step.steps, instance);
    return step.kind === 'split' ? step.branches.flatMap(branch => stepsUsing(branch.steps, instance)) : [];
  });
}
