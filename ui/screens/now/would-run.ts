// What a restored state would run once it is resumed, as GET /pauses has it.
import { counted, ms } from '../../core/format.ts';
import type { PauseView } from '../../parts/pause-words.ts';

export type WouldRun = {
  /** The number of jobs that have not ended, without runs of pipelines; `delayed` of them wait for their time. */
  readonly jobs: number;
  readonly delayed: number;
  readonly runs: number;
  /** When the oldest of these jobs and runs was accepted; null: there is none. */
  readonly oldest_at: string | null;
  /** The commands of these jobs; those with the most jobs come first. */
  readonly commands: readonly { readonly plugin: string; readonly command: string; readonly jobs: number }[];
};
export type PauseList = { readonly pauses: readonly (PauseView & { readonly would_run?: WouldRun })[] };

/** Whether the pause holds a restored state. */
export function isRestored({ target, by }: Pick<PauseView, 'target' | 'by'>): boolean {
  return target.kind === 'system' && by === 'restore';
}

/** `runs 53 jobs (2 of them delayed), and continues 1 run; the oldest was accepted 2 h ago` */
export function wouldRunText({ jobs, delayed, runs, oldest_at: oldest }: WouldRun, nowMs: number): string {
  if (jobs === 0 && runs === 0) return 'runs nothing';
  const later = delayed > 0 ? ` (${counted(delayed, 'of them delayed', 'of them delayed')})` : '';
  const continued = runs > 0 ? `continues ${counted(runs, 'run')}` : '';
  const begun = jobs > 0 ? `runs ${counted(jobs, 'job')}${later}` : '';
  const age = oldest === null ? '' : `; the oldest was accepted ${ms(Math.max(0, nowMs - Date.parse(oldest)))} ago`;
  return [begun, continued].filter(Boolean).join(', and ') + age;
}
