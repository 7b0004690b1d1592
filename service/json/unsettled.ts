// The unsettled jobs and runs of a state or a backup, as the API and the commands show them.
import type { Unsettled } from '../../actors/job/views/unsettled.ts';

export function unsettledDocument({ jobs, delayed, runs, oldestMs, commands }: Unsettled) {
  return {
    jobs,
    delayed,
    runs,
    oldest_at: oldestMs === null ? null : new Date(oldestMs).toISOString(),
    commands: commands.slice(0, commandsShown),
  };
}

/** The maximum number of commands in a document. The commands with the most jobs are shown. */
const commandsShown = 100;
