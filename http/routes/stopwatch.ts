// The stopwatch (docs/contract.md#stopwatch): how long the steps of a plugin waited and ran, as percentiles.
import { cellExemplarsMax, stepExemplarsMax } from '../../actors/index/views/step-history.ts';
import { trendBuckets, windowOf } from '../../actors/index/views/stopwatch.ts';
import { Type } from '../../runtime/schema-type.ts';
import { answerRead } from '../answer.ts';
import { instant, instantOf, uuid } from '../openapi/schemas.ts';
import { isProblem } from '../problem.ts';
import { anyOf, route } from '../route.ts';
import { pointsMax, stopwatchParameters, wantedHistory, wantedSteps, windowStart } from '../stopwatch-query.ts';
import { maySeeResults } from './jobs.ts';
import { findPlugin } from './plugins.ts';

const exact = { p50_us: Type.Integer(), p95_us: Type.Integer(), p99_us: Type.Integer(), max_us: Type.Integer() };
const figures = {
  sample_count: Type.Integer(),
  p50_ms: Type.Integer(),
  p95_ms: Type.Integer(),
  p99_ms: Type.Integer(),
  ...exact,
};
const spanSchema = Type.Object({ name: Type.String(), ...figures });
const exemplarsSchema = (description: string) =>
  Type.Optional(Type.Array(Type.Object({ job_id: uuid, us: Type.Integer() }), { description }));
const seriesSchema = Type.Array(Type.Object({ at: instant, sample_count: Type.Integer(), ...exact }), {
  description: 'The buckets that have samples, oldest first; `at` is the beginning of the bucket.',
});
const heatSchema = Type.Array(
  Type.Object({
    at: instant,
    from_us: Type.Integer({ description: 'The cell has times from this one on.' }),
    to_us: Type.Integer({ description: 'The cell has shorter times than this one.' }),
    sample_count: Type.Integer(),
    exemplars: exemplarsSchema(
      `Up to ${cellExemplarsMax} jobs with times near the longest of the cell, longest first.`,
    ),
  }),
  { description: 'The cells that have samples, by time, then by length; `at` is the beginning of the bucket.' },
);
const stepSchema = Type.Object({
  step: Type.String(),
  ...figures,
  trend_p95_ms: Type.Array(Type.Integer(), { minItems: trendBuckets, maxItems: trendBuckets }),
  subs: Type.Optional(Type.Array(spanSchema)),
  series: Type.Optional(seriesSchema),
  heat: Type.Optional(heatSchema),
  exemplars: exemplarsSchema(
    `Up to ${stepExemplarsMax} jobs with times near the longest of the window, longest first.`,
  ),
});
const stopwatchSchema = Type.Object({
  plugin: Type.String(),
  window: Type.String(),
  captured_at: instant,
  from: Type.Optional(instantOf('When the window begins. Present with `from`, `to`, `series` or `heat`.')),
  to: Type.Optional(instantOf('When the window ends. Present as `from` is.')),
  bucket_minutes: Type.Optional(Type.Integer({ description: 'The length of a bucket of `series` and `heat`.' })),
  steps: Type.Array(stepSchema),
  subs_unavailable: Type.Optional(Type.Literal('insufficient_scope')),
  exemplars_unavailable: Type.Optional(Type.Literal('insufficient_scope')),
});

export const getStopwatch = route({
  method: 'GET',
  path: '/stopwatch/{plugin}',
  section: 'Observation',
  summary: "Reports how long a plugin's commands and pipeline steps waited and ran.",
  notes:
    'The window begins with the minute of `from` (by default 24 hours before `to`; `since` is another name of `from`), and ends before ' +
    '`to` (default: now), which is rounded up to a minute. `series` adds percentiles over time, `heat` the number of samples in each ' +
    'cell: a bucket of time, and times from a power of two to the next. Both add exemplars, which are jobs with long times, for ' +
    'callers with `jobs:ro` or `jobs:rw`. A bucket has as many whole minutes as are needed for at most `buckets` of them; steps times ' +
    `buckets may be at most ${pointsMax}. \`step\` selects steps.`,
  access: anyOf('jobs:status:ro', 'jobs:rw'),
  query: stopwatchParameters,
  problems: ['unknown_plugin'],
  answers: { 200: { description: 'Percentiles by step.', schema: stopwatchSchema } },
  find: ({ config, params, caller }) => findPlugin(config, params.plugin, caller),
  handle(call) {
    const { config, found, query } = call;
    // After the clock was set back, attempts end at times after now. They count in the current window, too.
    const nowUs = Math.max(call.nowMs() * 1000, call.engine.newestEndUs());
    const fromUs = windowStart(query, nowUs);
    if (isProblem(fromUs)) return fromUs;
    const window = windowOf(fromUs, nowUs, query.to ?? null);
    const steps = wantedSteps(query, config, found);
    if (isProblem(steps)) return steps;
    const history = wantedHistory(query, window, steps.length, call.caller!);
    if (isProblem(history)) return history;
    const subs = query.include_subs === true ? maySeeResults(call.caller!) : null;
    return answerRead(call, {
      kind: 'stopwatch',
      plugin: found.name,
      window,
      nowUs,
      steps,
      onlySteps: query.step !== undefined,
      subs,
      bounds: query.from !== undefined || query.to !== undefined || history !== null,
      history,
    });
  },
});
