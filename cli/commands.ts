// All commands, in the order in which help and reference list them.
import type { CommandDeclaration } from './command.ts';
import { actionCommands } from './commands/action.ts';
import { backupCommands } from './commands/backup.ts';
import { completionCommands } from './commands/completion.ts';
import { configCheck } from './commands/config-check.ts';
import { configLock } from './commands/config-lock.ts';
import { configSchemaCommand } from './commands/config-schema.ts';
import { configShow } from './commands/config-show.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eventsCommand } from './commands/events.ts';
import { failuresCommand } from './commands/failures.ts';
import { initCommand } from './commands/init.ts';
import { jobCancel } from './commands/job-cancel.ts';
import { jobList } from './commands/job-list.ts';
import { jobLogs } from './commands/job-logs.ts';
import { jobRerun } from './commands/job-rerun.ts';
import { jobReschedule } from './commands/job-reschedule.ts';
import { jobRunNow } from './commands/job-run-now.ts';
import { jobShow } from './commands/job-show.ts';
import { jobTimeline } from './commands/job-timeline.ts';
import { jobTree } from './commands/job-tree.ts';
import { jobWatch } from './commands/job-watch.ts';
import { jobWhy } from './commands/job-why.ts';
import { pauseCommands } from './commands/pause.ts';
import { pipelineGraph } from './commands/pipeline-graph.ts';
import { pipelineList } from './commands/pipeline-list.ts';
import { pluginList } from './commands/plugin-list.ts';
import { pluginNew } from './commands/plugin-new.ts';
import { pluginTest } from './commands/plugin-test.ts';
import { reloadCommand } from './commands/reload.ts';
import { restoreCommand } from './commands/restore.ts';
import { pipelineRun, pluginRun } from './commands/run.ts';
import { scheduleCommands } from './commands/schedule.ts';
import { servicePrint } from './commands/service-print.ts';
import { startCommand } from './commands/start.ts';
import { stateCommands } from './commands/state.ts';
import { statusCommand } from './commands/status.ts';
import { stopwatchCommand } from './commands/stopwatch.ts';
import { tokenNew } from './commands/token-new.ts';
import { topCommand } from './commands/top.ts';
import { uiCommand } from './commands/ui.ts';
import { vaultAbandon } from './commands/vault-abandon.ts';
import { vaultAudit } from './commands/vault-audit.ts';
import { vaultInit } from './commands/vault-init.ts';
import { vaultList } from './commands/vault-list.ts';
import { principalCommands } from './commands/vault-principal.ts';
import { vaultResetAdminToken } from './commands/vault-reset-admin-token.ts';
import { vaultRotateKey } from './commands/vault-rotate-key.ts';
import { secretCommands } from './commands/vault-secret.ts';
import { versionCommand } from './commands/version.ts';
import { whoamiCommand } from './commands/whoami.ts';

export const commands: readonly CommandDeclaration[] = [
  initCommand,
  startCommand,
  statusCommand,
  topCommand,
  uiCommand,
  doctorCommand,
  reloadCommand,
  ...backupCommands,
  restoreCommand,
  ...stateCommands,
  servicePrint,
  configCheck,
  configLock,
  configShow,
  configSchemaCommand,
  pluginList,
  pluginRun,
  pluginNew,
  pluginTest,
  pipelineList,
  pipelineRun,
  pipelineGraph,
  jobList,
  jobShow,
  jobTree,
  jobTimeline,
  jobLogs,
  jobWatch,
  jobRerun,
  jobCancel,
  jobRunNow,
  jobReschedule,
  jobWhy,
  ...actionCommands,
  ...pauseCommands,
  ...scheduleCommands,
  eventsCommand,
  stopwatchCommand,
  failuresCommand,
  vaultInit,
  vaultAudit,
  vaultRotateKey,
  vaultResetAdminToken,
  vaultAbandon,
  vaultList,
  ...principalCommands,
  ...secretCommands,
  tokenNew,
  whoamiCommand,
  ...completionCommands,
  versionCommand,
];
