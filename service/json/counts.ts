// Writes the counters of commands as JSON.
import { type CommandCounts, jobsByStatus } from '../../actors/job/records/counts.ts';
import { timestamp } from './timestamp.ts';

export function writeCounts(counted: readonly CommandCounts[], nowUs: number): string {
  const counts = counted.map(each => ({ plugin: each.plugin, command: each.command, ...jobsByStatus([each]) }));
  return JSON.stringify({ captured_at: timestamp(nowUs), counts });
}
