// The work that a service would continue if it started from a store: the unsettled jobs of the store, and when the oldest was accepted.
import { blockKeyMs } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { readCounts, settledOf } from '../records/counts.ts';
import { isHosted, pipelinePlugin } from '../records/job.ts';

/** The unsettled jobs of one command. */
export type UnsettledCommand = { readonly plugin: string; readonly command: string; readonly jobs: number };

export type Unsettled = {
  /** The number of unsettled jobs that plugins run. */
  readonly jobs: number;
  /** The number of delayed jobs that plugins run. */
  readonly delayed: number;
  /** The number of runs of pipelines that have not settled. */
  readonly runs: number;
  /** When the oldest unsettled job, run or action was accepted, in ms since the epoch. Null: all are settled. */
  readonly oldestMs: number | null;
  /** The unsettled jobs that plugins run, by command: the command with the most jobs first. */
  readonly commands: readonly UnsettledCommand[];
};

/** Reads only the counters and the key of one open record, however many jobs the store has. */
export function unsettledIn(reader: Reader): Unsettled {
  const commands: UnsettledCommand[] = [];
  let [jobs, delayed, runs] = [0, 0, 0];
  for (const { plugin, command, counts } of readCounts(reader)) {
    const open = counts.accepted - settledOf(counts);
    if (open <= 0) continue;
    if (plugin === pipelinePlugin) runs += open;
    if (!isHosted(plugin)) continue;
    jobs += open;
    delayed += counts.delayed;
    commands.push({ plugin, command, jobs: open });
  }
  let oldestMs: number | null = null;
  for (const key of reader.keys('open', { limit: 1 })) oldestMs = blockKeyMs(Buffer.from(key));
  return { jobs, delayed, runs, oldestMs, commands: commands.sort((a, b) => b.jobs - a.jobs) };
}
