// The stopwatch (interface, 4.4): how long the steps of a plugin waited and ran, as percentiles.
import { setImmediate as breathe } from 'node:timers/promises';
import { Histogram } from '../../actors/index/histogram.ts';
import { commandStep, minuteUs, pipelineStep } from '../../actors/index/stopwatch-record.ts';
import { type StepTimes, trendBuckets, windowOf } from '../../actors/index/stopwatch-view.ts';
import { type Config, instanceNamed, type PluginInstance } from '../../config/config.ts';
import type { Step } from '../../config/pipeline/definition.ts';
import { Type } from '../../runtime/schema-type.ts';
import { type Problem, problem } from '../problem.ts';
import { flag, instant } from '../query.ts';
import { anyOf, json, type Route, route } from '../route.ts';
import { timestamp } from '../timestamp.ts';
import { maySeeResults } from './jobs.ts';

const windowUsDefault = 24 * 60 * minuteUs;
/** Of reading without letting others have their turn. */
const readMsMax = 4;

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
  summary: "How long a plugin's commands and pipeline steps waited and ran.",
  access: anyOf('jobs:status:ro', 'jobs:rw'),
  query: { since: instant, include_subs: flag },
  body: null,
  problems: ['unknown_plugin'],
  answers: { 200: { description: 'Percentiles by step.', schema: stopwatchSchema } },
  find({ config, params }): PluginInstance | Problem {
    const known = instanceNamed(config, params.plugin);
    return known ?? problem('unknown_plugin', `there is no plugin ${JSON.stringify(params.plugin)}`);
  },
  async handle(call) {
    const { engine, config, found, query } = call;
    const nowUs = call.nowMs() * 1000;
    const window = windowOf(query.since ?? nowUs - windowUsDefault, nowUs);
    const reading = await engine.stopwatch(found.name, window);
    while (!reading.read(readMsMax)) await breathe();
    const wantsSubs = query.include_subs === true;
    const withSubs = wantsSubs && maySeeResults(call.caller!);
    const body = {
      plugin: found.name,
      window: durationText(Math.max(0, window.to - window.from)),
      captured_at: timestamp(nowUs),
      steps: stepNames(config, found, reading.steps).map(step => stepJson(step, reading.steps.get(step), withSubs)),
      ...(wantsSubs && !withSubs && { subs_unavailable: 'insufficient_scope' }),
    };
    return json(200, JSON.stringify(body));
  },
});

export const stopwatchRoutes: readonly Route[] = [getStopwatch];

/** Those of the configuration, in its order, and then any others that were measured. */
function stepNames(
  config: Config,
  { name, manifest }: PluginInstance,
  measured: ReadonlyMap<string, unknown>,
): string[] {
  const ofCommands = manifest.commands.flatMap(({ name: command }) =>
    (['queue', 'run', 'total'] as const).map(what => commandStep(command, what)),
  );
  const ofPipelines = config.pipelines.flatMap(pipeline =>
    stepsUsing(pipeline.steps, name).map(stepId => pipelineStep(pipeline.name, stepId)),
  );
  return [...new Set([...ofCommands, ...ofPipelines, ...[...measured.keys()].sort()])];
}

function stepsUsing(steps: readonly Step[], instance: string): string[] {
  return steps.flatMap(step => {
    if (step.kind === 'uses') return step.instance === instance ? [step.id] : [];
    if (step.kind === 'steps') return stepsUsing(step.steps, instance);
    return step.kind === 'split' ? step.branches.flatMap(branch => stepsUsing(branch.steps, instance)) : [];
  });
}

const none = new Histogram();

function stepJson(step: string, times: StepTimes | undefined, withSubs: boolean): object {
  const trend = times?.trend ?? [];
  const spans = [...(times?.spans ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    step,
    ...figuresOf(times?.all ?? none),
    trend_p95_ms: Array.from({ length: trendBuckets }, (_, i) => wholeMs((trend[i] ?? none).percentile(0.95))),
    ...(withSubs && { subs: spans.map(([name, spanTimes]) => ({ name, ...figuresOf(spanTimes) })) }),
  };
}

function figuresOf(times: Histogram): object {
  const [p50, p95, p99] = [times.percentile(0.5), times.percentile(0.95), times.percentile(0.99)];
  return {
    sample_count: times.count,
    p50_ms: wholeMs(p50),
    p95_ms: wholeMs(p95),
    p99_ms: wholeMs(p99),
    p50_us: p50,
    p95_us: p95,
    p99_us: p99,
    max_us: times.maxUs,
  };
}

function wholeMs(us: number): number {
  return Math.round(us / 1000);
}

/** `24h`, `90m`: the largest unit that divides it. */
function durationText(minutes: number): string {
  return minutes > 0 && minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}
