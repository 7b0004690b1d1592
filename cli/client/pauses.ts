// The JSON documents of pauses in the API, and their lines on the terminal.
import type { TerminalLine } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';
import type { Client } from './client.ts';

export type PauseDocument = {
  readonly target: { readonly kind: string; readonly name?: string; readonly command?: string };
  readonly reason?: string;
  readonly by: string;
  readonly since: string;
  readonly until?: string;
  readonly reject?: true;
};
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

export function pauseLines(pauses: readonly PauseDocument[]): TerminalLine[] {
  return pauses.map(pause => {
    const { target, by, since, reason } = pause;
    const why = reason === undefined ? '' : `: ${reason}`;
    return [
      { text: 'paused   ', style: 'yellow' },
      `${targetName(target)} by ${by} since ${formatAt(since)}, ${pausedUntil(pause)}${why}`,
    ];
  });
}
