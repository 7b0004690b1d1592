// Analytics (docs/contract.md#analytics): the queue, and the numbers of open jobs and of jobs that settled in the last 24 hours.

import { statuses } from '../../actors/job/records/job.ts';
import { activeJobsMax } from '../../actors/job/reports/analytics.ts';
import { Type } from '../../runtime/schema-type.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { count, counted, instantOf, nullable, queueCounts } from '../openapi/schemas.ts';
import { problem } from '../problem.ts';
import { anyOf, json, type Route, route } from '../route.ts';

const section = 'Administration';

const queueSchema = Type.Object({
  ...queueCounts,
  waiting_count: counted('Scheduled, held and paused jobs together: what `service.max_waiting` limits.'),
  dead_count: counted('Dead jobs that are still stored.'),
  max_workers: count,
  utilization: Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      'The share of workers that were busy in the last minute, for the busiest kind: threads, persistent processes or programs.',
  }),
  active_jobs: Type.Array(
    Type.Object({
      job_id: Type.String({ format: 'uuid' }),
      plugin: Type.String(),
      command: Type.String(),
      started_at: instantOf('When it was dispatched to a worker.'),
    }),
    { maxItems: activeJobsMax },
  ),
  vault_sealed: Type.Optional(
    Type.Literal(true, { description: 'The vault does not open: until it does, no job is dispatched.' }),
  ),
  plugin_lanes: Type.Array(
    Type.Object({
      plugin: Type.String(),
      active_count: count,
      queued_count: count,
      limit: nullable(Type.Integer({ minimum: 1 }), { description: 'Null: only the number of workers limits it.' }),
    }),
  ),
});

const getQueue = route({
  method: 'GET',
  path: '/analytics/queue',
  section,
  summary: 'Reports what is waiting and running, and how busy the workers are.',
  access: anyOf('*'),
  problems: ['unavailable'],
  answers: { 200: { description: 'The queue.', schema: queueSchema } },
  async handle({ engine }) {
    const queue = await engine.administration.queue();
    if (queue === null) return problem('unavailable', 'the ledger does not answer right now');
    const lanes = queue.lanes.toSorted((a, b) => (a.plugin < b.plugin ? -1 : 1));
    const body = {
      queue_depth: queue.queued,
      running_count: queue.running,
      delayed_count: queue.retrying,
      scheduled_count: queue.scheduled,
      held_count: queue.held,
      paused_count: queue.paused,
      waiting_count: queue.waiting,
      dead_count: queue.dead,
      max_workers: queue.workers,
      utilization: Math.round(queue.utilization * 10_000) / 10_000,
      active_jobs: queue.active.map(({ jobId, plugin, command, startedUs }) => {
        return { job_id: jobId, plugin, command, started_at: timestamp(startedUs) };
      }),
      ...(engine.vault.isSealed && { vault_sealed: true }),
      plugin_lanes: lanes.map(({ plugin, active, queued, limit }) => {
        return { plugin, active_count: active, queued_count: queued, limit };
      }),
    };
    return json(200, JSON.stringify(body));
  },
});

const summarySchema = Type.Object({
  window: Type.Literal('24h'),
  stats: Type.Object(Object.fromEntries(statuses.map(status => [status, count]))),
});

const getSummary = route({
  method: 'GET',
  path: '/analytics/summary',
  section,
  summary: 'Counts the jobs that settled in the last 24 hours (to the minute) and those that are open, by status.',
  access: anyOf('*'),
  answers: { 200: { description: 'The counts. Every status is present.', schema: summarySchema } },
  handle: ({ engine }) => json(200, JSON.stringify({ window: '24h', stats: engine.administration.summary() })),
});

export const analyticsRoutes: readonly Route[] = [getQueue, getSummary];
