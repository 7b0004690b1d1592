// All routes of the API. docs/reference.md lists the sections, and the routes of each section, in this order.
import type { Route } from '../route.ts';
import { actionRoutes } from './actions.ts';
import { analyticsRoutes } from './analytics.ts';
import { postBackup } from './backup.ts';
import { batchRoutes } from './batch.ts';
import { getConfigView } from './config-view.ts';
import { getCounts } from './counts.ts';
import { controlDocumentRoute, discoveryRoutes } from './discovery.ts';
import { getEvents } from './events.ts';
import { executionRoutes } from './execution.ts';
import { getFailures } from './failures.ts';
import { jobListRoutes } from './job-lists.ts';
import { jobRoutes } from './jobs.ts';
import { getMetrics } from './metrics.ts';
import { getOverview } from './overview.ts';
import { pauseRoutes } from './pauses.ts';
import { getPipeline } from './pipelines.ts';
import { pluginRoutes } from './plugins.ts';
import { rerunJob } from './rerun.ts';
import { rescheduleJob } from './reschedule.ts';
import { runJobNow } from './run-now.ts';
import { backfillSchedule } from './schedule-backfill.ts';
import { scheduleRoutes } from './schedules.ts';
import { getStopwatch } from './stopwatch.ts';
import { systemRoutes } from './system.ts';
import { getTimeline } from './timeline.ts';
import { getTopology } from './topology.ts';
import { uiSessionRoutes } from './ui-sessions.ts';
import { vaultRoutes } from './vault.ts';
import { getWhoami } from './whoami.ts';

export const apiRoutes: readonly Route[] = [
  ...executionRoutes,
  ...batchRoutes,
  ...jobRoutes,
  getTimeline,
  rerunJob,
  runJobNow,
  rescheduleJob,
  ...jobListRoutes,
  ...pluginRoutes,
  getPipeline,
  getOverview,
  getCounts,
  getTopology,
  getStopwatch,
  getFailures,
  getEvents,
  getMetrics,
  ...actionRoutes,
  ...pauseRoutes,
  postBackup,
  ...scheduleRoutes,
  backfillSchedule,
  ...systemRoutes,
  ...analyticsRoutes,
  getConfigView,
  ...vaultRoutes,
  ...discoveryRoutes,
  getWhoami,
  ...uiSessionRoutes,
  controlDocumentRoute(() => apiRoutes),
];
