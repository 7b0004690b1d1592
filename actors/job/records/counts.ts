// Counters per plugin and command: accepted, running and delayed jobs, ended jobs by status, and attempts that were followed by another.
// Pruned jobs and attempts are subtracted, and counted separately.

import { unpack } from '../../../runtime/packing.ts';
import { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { isHosted, type JobGroup, type Status, type TerminalStatus, terminalStatuses } from './job.ts';

export type CommandTotals = { accepted: number } & { [S in TerminalStatus]: number } & {
  /** The number of failed attempts that were followed by another attempt. */
  retried_failed: number;
  /** The number of timed-out attempts that were followed by another attempt. */
  retried_timed_out: number;
  /** The number of cancelled jobs without an attempt. Absent in records of format 9. */
  never_started: number;
  /** The number of jobs that hosts have. Absent in records of format 9. */
  running: number;
  /** The number of jobs whose time to run has not come. Absent in records of versions without delayed jobs. */
  delayed: number;
  /** The numbers that pruning has subtracted from the other counters. Absent: none. */
  pruned?: { [C in PrunedCount]?: number };
  /**
   * By status: how many jobs ended with an attempt that did not run (`hasRun`), including pruned jobs. Cancelled jobs without an attempt
   * count in `never_started` instead. Absent: none was counted.
   */
  unstarted?: { [S in TerminalStatus]?: number };
  /** How many jobs were accepted for each reason other than a call, including pruned jobs. Absent: none was counted. */
  sources?: { [S in OtherSource]?: number };
};

/** The counters from which pruning subtracts. */
export type PrunedCount = 'accepted' | TerminalStatus | 'retried_failed' | 'retried_timed_out' | 'never_started';

/** Why a job was accepted. `api`: a call. `step`: it belongs to a step of a run. `event`: an event of another job, or a hook. */
export const jobSources = ['api', 'webhook', 'schedule', 'step', 'event', 'rerun'] as const;
export type JobSource = (typeof jobSources)[number];
export type OtherSource = Exclude<JobSource, 'api'>;

export type CommandCounts = { readonly plugin: string; readonly command: string; readonly counts: CommandTotals };

export function emptyCounts(): CommandTotals {
  return {
    accepted: 0,
    succeeded: 0,
    failed: 0,
    timed_out: 0,
    dead: 0,
    cancelled: 0,
    retried_failed: 0,
    retried_timed_out: 0,
    never_started: 0,
    running: 0,
    delayed: 0,
  };
}

export function countsKey(plugin: string, command: string): string {
  return `${plugin}\0${command}`;
}

/** All committed counters. Unusable records are set aside. */
export function readCounts(reader: Reader, setAside = new SetAside()): CommandCounts[] {
  const all: CommandCounts[] = [];
  for (const { key, value } of reader.scan('counters', {})) {
    const counts = readCount(key, value, setAside);
    if (counts) all.push(counts);
  }
  return all;
}

/** The counters in a record. Null: the record is unusable, and is set aside. */
export function readCount(key: Uint8Array, value: Uint8Array, setAside = new SetAside()): CommandCounts | null {
  const [plugin = '', command = ''] = Buffer.from(key).toString().split('\0');
  const counts = setAside.read('counters', key, () => ({ ...emptyCounts(), ...unpack<CommandTotals>(value) }));
  return counts ? { plugin, command, counts } : null;
}

/** The counter for attempts with this status that were followed by another attempt. */
export function retriedCount(status: TerminalStatus): 'retried_failed' | 'retried_timed_out' {
  return status === 'timed_out' ? 'retried_timed_out' : 'retried_failed';
}

export function countNotRun(counts: CommandTotals, status: TerminalStatus): void {
  counts.unstarted ??= {};
  counts.unstarted[status] = (counts.unstarted[status] ?? 0) + 1;
}

export function subtractPruned(counts: CommandTotals, name: PrunedCount): void {
  counts[name]--;
  counts.pruned ??= {};
  counts.pruned[name] = (counts.pruned[name] ?? 0) + 1;
}

/** The sum of the counter and the number that pruning has subtracted from it. The sum never decreases. */
export function everCounted(counts: CommandTotals, name: PrunedCount): number {
  return counts[name] + (counts.pruned?.[name] ?? 0);
}

/** Whether a webhook endpoint submitted the work. */
export function isWebhook(submittedBy: string): boolean {
  return submittedBy.startsWith('webhook:');
}

/** Why the jobs of a group were accepted. */
export function sourceOf({ submittedBy, parent, run, rerun }: JobGroup): JobSource {
  if (run !== null) return 'step';
  if (parent !== null) return 'event';
  if (rerun !== null) return 'rerun';
  if (isWebhook(submittedBy)) return 'webhook';
  return submittedBy.startsWith('schedule:') ? 'schedule' : 'api';
}

export function settledOf(counts: CommandTotals): number {
  return terminalStatuses.reduce((sum, status) => sum + counts[status], 0);
}

/** The number of unsettled jobs with this status. The job of a run or action is queued while it is delayed, and otherwise running. */
export function openOf({ plugin, counts }: CommandCounts, status: 'queued' | 'running'): number {
  const open = counts.accepted - settledOf(counts);
  const running = isHosted(plugin) ? counts.running : open - counts.delayed;
  return status === 'running' ? running : open - running;
}

/** The number of stored jobs with each status. */
export function jobsByStatus(all: readonly CommandCounts[]): { readonly [S in Status]: number } {
  const sum = { queued: 0, running: 0, succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: 0 };
  for (const each of all) {
    sum.queued += openOf(each, 'queued');
    sum.running += openOf(each, 'running');
    for (const status of terminalStatuses) sum[status] += each.counts[status];
  }
  return sum;
}

/** The number of logs with this status. Each ended attempt has a log, even if another attempt followed. */
export function logsOf(counts: CommandTotals, status: TerminalStatus): number {
  if (status === 'failed') return counts.failed + counts.retried_failed;
  return status === 'timed_out' ? counts.timed_out + counts.retried_timed_out : counts[status];
}
