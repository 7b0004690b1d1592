// All routes of the API. docs/reference.md lists the sections, and the routes of each section, in this order.
import type { Route } from '../route.ts';
import { actionRoutes } from './actions.ts';
import { analyticsRoutes } from './analytics.ts';
import { backupRoutes } from './backup.ts';
import { batchRoutes } from './batch.ts';
import { configViewRoutes } from './config-view.ts';
import { countRoutes } from './counts.ts';
import { controlDocumentRoute, discoveryRoutes } from './discovery.ts';
import { eventRoutes } from './events.ts';
import { executionRoutes } from './execution.ts';
import { failureRoutes } from './failures.ts';
import { jobListRoutes } from './job-lists.ts';
import { jobRoutes } from './jobs.ts';
import { metricsRoutes } from './metrics.ts';
import { overviewRoutes } from './overview.ts';
import { pauseRoutes } from './pauses.ts';
import { pipelineRoutes } from './pipelines.ts';
import { pluginRoutes } from './plugins.ts';
import { rerunRoutes } from './rerun.ts';
import { rescheduleRoutes } from './reschedule.ts';
import { runNowRoutes } from './run-now.ts';
import { backfillRoutes } from './schedule-backfill.ts';
import { scheduleRoutes } from './schedules.ts';
import { stopwatchRoutes } from './stopwatch.ts';
import { systemRoutes } from './system.ts';
import { timelineRoutes } from './timeline.ts';
import { topologyRoutes } from './topology.ts';
import { uiSessionRoutes } from './ui-sessions.ts';
import { vaultRoutes } from './vault.ts';
import { whoamiRoutes } from './whoami.ts';

export const apiRoutes: readonly Route[] = [
  ...executionRoutes,
  ...batchRoutes,
  ...jobRoutes,
  ...timelineRoutes,
  ...rerunRoutes,
  ...runNowRoutes,
  ...rescheduleRoutes,
  ...jobListRoutes,
  ...pluginRoutes,
  ...pipelineRoutes,
  ...overviewRoutes,
  ...countRoutes,
  ...topologyRoutes,
  ...stopwatchRoutes,
  ...failureRoutes,
  ...eventRoutes,
  ...metricsRoutes,
  ...actionRoutes,
  ...pauseRoutes,
  ...backupRoutes,
  ...scheduleRoutes,
  ...backfillRoutes,
  ...systemRoutes,
  ...analyticsRoutes,
  ...configViewRoutes,
  ...vaultRoutes,
  ...discoveryRoutes,
  ...whoamiRoutes,
  ...uiSessionRoutes,
  controlDocumentRoute(() => apiRoutes),
];
