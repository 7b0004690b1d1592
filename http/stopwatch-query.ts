// Reads the query of the stopwatch: the window, the steps, and the buckets into which a history divides the window.
import { commandStep, minuteUs, pipelineStep } from '../actors/index/records/stopwatch.ts';
import type { Window } from '../actors/index/views/stopwatch.ts';
import type { Config, PluginInstance } from '../config/config.ts';
import { type Step, stepLists } from '../config/pipeline/definition.ts';
import type { ApiScope } from '../config/section/scope.ts';
import type { StopwatchHistory } from '../service/reads/reads.ts';
import { type Caller, may } from './auth.ts';
import type { HttpProblem } from './problem.ts';
import { flag, instant, integer, invalidQuery, type Parameters, type QueryValues, repeated, text } from './query.ts';
import { nameCharactersMax } from './selection.ts';

const windowUsDefault = 24 * 60 * minuteUs;
const bucketsDefault = 48;
const bucketsMax = 400;
/** The maximum number of points in one answer: steps times buckets. */
export const pointsMax = 5_000;
/** How often `step` may be given. */
const stepsNamedMax = 20;
/** The maximum length of `step`. The name of a step has the name of a command or pipeline, a separator, and a word or a step id. */
const stepCharactersMax = 2 * nameCharactersMax;
/** The scopes, besides `*`, that give access to exemplars. A scope is needed because exemplars contain job ids. */
const exemplarScopes: readonly ApiScope[] = ['jobs:ro', 'jobs:rw'];

export const stopwatchParameters = {
  since: instant,
  from: instant,
  to: instant,
  step: repeated(stepsNamedMax, text(stepCharactersMax)),
  include_subs: flag,
  series: flag,
  heat: flag,
  buckets: integer(1, bucketsMax, bucketsDefault),
} satisfies Parameters;

type Query = QueryValues<typeof stopwatchParameters>;

/** When the wanted window begins, in µs since 1970; a problem if `since` and `from` are both given, or if the beginning is not before `to`. */
export function windowStart({ since, from, to }: Query, nowUs: number): number | HttpProblem {
  if (since !== undefined && from !== undefined)
    return invalidQuery('the query parameters "since" and "from" mean the same; give one of them');
  const given = from ?? since;
  if (given === undefined) return Math.min(to ?? nowUs, nowUs) - windowUsDefault;
  if (to === undefined || given < to) return given;
  return invalidQuery(`the query parameter "${from === undefined ? 'since' : 'from'}" must be before "to"`);
}

/** The steps that `step` names; without `step`, all steps of the plugin (`stepNames`). A problem if the plugin lacks a named step. */
export function wantedSteps({ step }: Query, config: Config, plugin: PluginInstance): readonly string[] | HttpProblem {
  const all = stepNames(config, plugin);
  if (step === undefined) return all;
  const known = new Set([...all, ...waitedSteps(plugin)]);
  const unknown = step.find(name => !known.has(name));
  if (unknown === undefined) return step;
  const [given, of] = [unknown, plugin.name].map(name => JSON.stringify(name));
  return invalidQuery(
    `the query parameter "step" must be a step of ${of}, and not ${given}; without "step" all are listed`,
  );
}

/**
 * The history that the query asks for; null if it asks for neither a series nor a heat map. A problem if it would have too many points, or if
 * `buckets` is given without either.
 */
export function wantedHistory(
  { series = false, heat = false, buckets }: Query,
  { from, to }: Window,
  steps: number,
  caller: Caller,
): StopwatchHistory | HttpProblem | null {
  if (!series && !heat) {
    if (buckets === undefined) return null;
    return invalidQuery('the query parameter "buckets" needs "series=true" or "heat=true"');
  }
  const most = buckets ?? bucketsDefault;
  if (steps * most > pointsMax) {
    const fitting = `"buckets" must be at most ${Math.floor(pointsMax / steps)}, or "step" must select fewer steps`;
    return invalidQuery(`${steps} steps in ${most} buckets are more than ${pointsMax} points: ${fitting}`);
  }
  const minutes = Math.max(1, Math.ceil((to - from + 1) / most));
  return { minutes, series, heat, exemplars: may(caller, exemplarScopes) };
}

/** The names of the plugin's steps: first those of its commands, then those of the pipeline steps that use the plugin, in the configured order. */
function stepNames(config: Config, { name, manifest }: PluginInstance): string[] {
  const ofCommands = manifest.commands.flatMap(({ name: command }) =>
    (['queue', 'run', 'total'] as const).map(what => commandStep(command, what)),
  );
  const ofPipelines = config.pipelines.flatMap(pipeline =>
    stepsUsing(stepLists(pipeline).flat(), name).map(stepId => pipelineStep(pipeline.name, stepId)),
  );
  return [...ofCommands, ...ofPipelines];
}

/**
 * The names of the steps `<command>.waited`, which measure the time until `run_at`, or until a pause or hold ended. Unless the query names them,
 * they are listed only if they have samples.
 */
function waitedSteps({ manifest }: PluginInstance): string[] {
  return manifest.commands.map(({ name }) => commandStep(name, 'waited'));
}

function stepsUsing(steps: readonly Step[], instance: string): string[] {
  return steps.flatMap(step => {
    if (step.kind === 'uses') return step.instance === instance ? [step.id] : [];
    if (step.kind === 'steps') return stepsUsing(step.steps, instance);
    return step.kind === 'split' ? step.branches.flatMap(branch => stepsUsing(branch.steps, instance)) : [];
  });
}
