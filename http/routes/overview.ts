// The overview of the jobs that wait, run and fail at present (docs/overview.md). Callers need only the scope `jobs:ro` or `jobs:rw`.

import { failureStatuses, statuses } from '../../actors/job/records/job.ts';
import { breakerStates } from '../../actors/job/reports/queue-protocol.ts';
import { Type } from '../../runtime/schema-type.ts';
import {
  failureCharsMax,
  overviewGroupsMax,
  recentFailuresMax,
  recentMinutes,
  trendMinutes,
} from '../../service/reads/overview.ts';
import { answerRead } from '../answer.ts';
import { count, counted, instant, nullable, oneOfTexts, queueCounts, uuid } from '../openapi/schemas.ts';
import { problem } from '../problem.ts';
import { anyOf, route } from '../route.ts';
import { failureSchema } from './failures.ts';
import { pauseSchema } from './pauses.ts';

const p95 = (what: string) =>
  nullable(Type.Integer(), {
    description: `The 95th percentile of how long attempts ${what}, in µs, over the minutes of \`recent\`; null: none were measured.`,
  });
const times = { run_p95_us: p95('ran'), queue_p95_us: p95('waited in the queue') };

const queue = Type.Object({
  ...queueCounts,
  oldest_queued_at: nullable(instant, {
    description: 'Since when the job that has waited longest could run, or is held; null: no job waits in a lane.',
  }),
  max_workers: count,
  utilization: Type.Number({ minimum: 0, maximum: 1, description: 'As in `GET /analytics/queue`.' }),
});

const recent = Type.Object(
  {
    seconds: Type.Integer({ description: 'The length of the time that these figures cover.' }),
    settled_count: counted('Jobs and runs that ended.'),
    per_second: Type.Number({ minimum: 0 }),
    error_rate: nullable(Type.Number({ minimum: 0, maximum: 1 }), {
      description:
        'The share of `failed`, `timed_out` and `dead` among those that ended and were not cancelled; null: none ended.',
    }),
    ...times,
  },
  { description: `The current minute and the ${recentMinutes} minutes before.` },
);

const perMinute = Type.Array(Type.Integer(), { minItems: trendMinutes, maxItems: trendMinutes });
const trend = Type.Object(
  { since: instant, settled: perMinute, failed: perMinute },
  {
    description:
      `The last ${trendMinutes} minutes, oldest first, beginning at \`since\`; the last one is the current minute. \`settled\`: jobs and ` +
      'runs that ended; `failed`: those of them that failed, timed out or are dead.',
  },
);

const lane = Type.Object({
  plugin: Type.String(),
  queued_count: counted('Jobs that wait in the lane, including held ones.'),
  active_count: counted('Running jobs.'),
  held_count: counted('Queued jobs that a pause or something else holds.'),
  limit: nullable(Type.Integer({ minimum: 1 }), {
    description: 'The `parallelism` of the plugin; null: only the number of workers limits it.',
  }),
  oldest_queued_at: nullable(instant, { description: 'As in `queue`, of this lane.' }),
  ...times,
  hold: Type.Optional(
    Type.Object(
      {
        reason: oneOfTexts(['plugin', 'vault', 'paused']),
        detail: Type.String(),
        since: Type.Optional(instant),
        until: Type.Optional(instant),
      },
      { description: 'What holds all jobs of the lane.' },
    ),
  ),
  breaker: Type.Optional(oneOfTexts(breakerStates, { description: 'Of a plugin with a circuit breaker.' })),
  isolated: Type.Optional(
    Type.Literal(true, { description: 'The jobs run one at a time, because they have recently ended several hosts.' }),
  ),
});

const failure = Type.Object({
  job_id: uuid,
  plugin: Type.String(),
  command: Type.String(),
  status: oneOfTexts(failureStatuses),
  attempt: Type.Integer(),
  completed_at: instant,
  last_error: Type.Optional(Type.String({ description: `At most ${failureCharsMax} characters.` })),
});

export const getOverview = route({
  method: 'GET',
  path: '/overview',
  section: 'Observation',
  summary: 'Reports what is going on now: counts, lanes, pauses, throughput, recent failures and their groups.',
  notes:
    'The answer comes from counters and from the first jobs of the queues, so it takes no longer if a million jobs wait. `headgate top` ' +
    'shows it.',
  access: anyOf('jobs:ro', 'jobs:rw'),
  problems: ['unavailable', 'too_many_reads'],
  answers: {
    200: {
      description: 'The overview.',
      schema: Type.Object({
        captured_at: instant,
        counts: Type.Object(Object.fromEntries(statuses.map(status => [status, count])), {
          description: 'All stored jobs and runs by status: the `total` of `GET /jobs?status=…`.',
        }),
        queue,
        recent,
        trend,
        lanes: Type.Array(lane, { description: 'One for each plugin instance, by name.' }),
        pauses: Type.Array(pauseSchema, {
          description: 'As in `GET /pauses`. An open breaker is a pause by `breaker`.',
        }),
        failures: Type.Array(failure, {
          maxItems: recentFailuresMax,
          description: 'The newest jobs that failed, timed out or are dead. The one that ended last comes first.',
        }),
        failure_groups: Type.Optional(
          Type.Array(failureSchema, {
            maxItems: overviewGroupsMax,
            description:
              'The newest groups of failed jobs, as in `GET /failures`. Absent: they cannot be read now, for example because the index restarts.',
          }),
        ),
      }),
    },
  },
  async handle(call) {
    const reply = await call.engine.administration.queue();
    if (reply === null) return problem('unavailable', 'the ledger does not answer right now');
    const { kind: _kind, active: _active, nowUs: ledgerUs, ...queue } = reply;
    // After the clock was set back, the ledger can be ahead of it, and attempts can end at times after both.
    const nowUs = Math.max(Math.floor(call.nowMs() * 1000), ledgerUs);
    const endUs = Math.max(nowUs, call.engine.newestEndUs());
    return answerRead(call, { kind: 'overview', nowUs, endUs, queue });
  },
});
