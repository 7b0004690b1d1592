// What a restored state or a backup would run, as the API and the commands show it.
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

/** How many commands a document lists, those with the most jobs. */
const commandsShown = 100;
