// The JSON documents of pauses in the API, and their lines on the terminal.
import { countText } from '../../runtime/text.ts';
import type { pauseDocument } from '../../service/json/pause.ts';
import type { unsettledDocument } from '../../service/json/unsettled.ts';
import type { TerminalLine } from '../terminal/text.ts';
import { formatAt, formatMs } from '../terminal/time.ts';
import type { Client } from './client.ts';

type WouldRun = ReturnType<typeof unsettledDocument>;
/** `would_run`: only in the pause of a restored state; the work that begins when that pause ends. */
export type PauseDocument = ReturnType<typeof pauseDocument> & { readonly would_run?: WouldRun };
export type PauseList = { readonly pauses: readonly PauseDocument[] };

export function fetchPauses(client: Client): Promise<PauseList> {
  return client.get<PauseList>('/pauses', { pauses: ['target', 'by', 'since'] });
}

/** The paused target in words, such as `the plugin mailer`, `the command mailer.send`, `the pipeline import` or `the service`. */
export function targetName({ kind, name, command }: PauseDocument['target']): string {
  if (kind === 'system') return 'the service';
  return command === undefined ? `the ${kind} ${name}` : `the command ${name}.${command}`;
}

export function pausedUntil({ until, reject }: PauseDocument): string {
  const end = until === undefined ? 'until somebody resumes it' : `until ${formatAt(until)}`;
  return reject ? `${end}; new calls are refused` : end;
}

/** Whether the pause has expired and is listed only because its breaker is half open. */
function isHalfOpen({ by, until }: PauseDocument): boolean {
  return by === 'breaker' && until !== undefined && Date.parse(until) <= Date.now();
}

export function pauseLines(pauses: readonly PauseDocument[]): TerminalLine[] {
  return pauses.flatMap(pause => {
    const { target, by, since, reason } = pause;
    const why = reason === undefined ? '' : `: ${reason}`;
    if (isHalfOpen(pause))
      return [[{ text: 'breaker  ', style: 'yellow' }, `${targetName(target)} is half open: the next job tries${why}`]];
    const line: TerminalLine = [
      { text: 'paused   ', style: 'yellow' },
      `${targetName(target)} by ${by} since ${formatAt(since)}, ${pausedUntil(pause)}${why}`,
    ];
    if (pause.would_run === undefined) return [line];
    const would = `until it is resumed, no schedule fires, and webhooks get 503; then it runs ${wouldRunText(pause.would_run, Date.now())}`;
    return [line, ['         ', would]];
  });
}

/** What would run, and how long ago the oldest was accepted: `3 jobs (1 of them delayed); the oldest was accepted 2h 00m ago`. */
export function wouldRunText({ jobs, delayed, runs, oldest_at }: WouldRun, nowMs: number): string {
  if (jobs === 0 && runs === 0) return 'nothing';
  const later = delayed > 0 ? ` (${delayed} of them delayed)` : '';
  const pipelines = runs > 0 ? `, and continues ${countText(runs, 'run')} of pipelines` : '';
  const oldest =
    oldest_at === null ? '' : `; the oldest was accepted ${formatMs(Math.max(0, nowMs - Date.parse(oldest_at)))} ago`;
  return `${countText(jobs, 'job')}${later}${pipelines}${oldest}`;
}
