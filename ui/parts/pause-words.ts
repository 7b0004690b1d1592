// Pauses in words: what is paused, and which jobs a pause would hold.
import { counted } from '../core/format.ts';

/** The target of a pause, as in `GET /pauses`. */
export type PauseTarget = {
  readonly kind: 'system' | 'pipeline' | 'plugin';
  /** Absent for the service. */
  readonly name?: string;
  readonly command?: string;
};

/** A pause, as in `GET /pauses`. */
export type PauseView = {
  readonly target: PauseTarget;
  readonly reason?: string;
  readonly by: string;
  readonly since: string;
  readonly until?: string;
  readonly reject?: true;
};

/** Jobs of a command, or runs of a pipeline, as in `GET /counts`. */
export type OpenCount = {
  readonly plugin: string;
  readonly command: string;
  readonly queued: number;
  readonly running: number;
};

/** `the plugin mailer`, `the service` */
export function targetText({ kind, name, command }: PauseTarget): string {
  if (kind === 'system') return 'the service';
  return `the ${kind} ${name}${command === undefined ? '' : `, command ${command}`}`;
}

/** Whether the pause has expired and is listed only because its breaker is half open. */
export function isHalfOpen({ by, until }: PauseView, nowMs: number): boolean {
  return by === 'breaker' && until !== undefined && Date.parse(until) <= nowMs;
}

/** What a pause of the target does. */
export function pauseText({ kind, command }: PauseTarget): string {
  const until = 'until it is resumed, even after a restart';
  if (kind === 'system') return `No job and no step of a pipeline starts ${until}. Running jobs continue.`;
  if (kind === 'pipeline') return `No run starts, and open runs start no further step ${until}. Running jobs continue.`;
  const of = command === undefined ? 'of the plugin, or of one that builds on it,' : 'of the command';
  return `No job ${of} starts ${until}. Running jobs continue.`;
}

/** How many jobs and runs a pause of the target would hold. */
export function heldText({ kind, name, command }: PauseTarget, counts: readonly OpenCount[]): string {
  const sum = (of: 'queued' | 'running', isMeant: (one: OpenCount) => boolean) =>
    counts.filter(isMeant).reduce((all, one) => all + one[of], 0);
  const isRun = (one: OpenCount) =>
    one.plugin === 'pipeline' && (kind === 'system' || (kind === 'pipeline' && one.command === name));
  const isJob = (one: OpenCount) =>
    one.plugin !== 'pipeline' &&
    (kind === 'system' || (one.plugin === name && (command === undefined || one.command === command)));
  const jobs = kind === 'pipeline' ? [] : [sum('queued', isJob), sum('running', isJob)];
  const runs = kind === 'plugin' ? [] : [sum('queued', isRun), sum('running', isRun)];
  const parts = [
    jobs[0] && counted(jobs[0], 'job waits', 'jobs wait'),
    jobs[1] && counted(jobs[1], 'running job continues', 'running jobs continue'),
    runs[0] && counted(runs[0], 'run waits', 'runs wait'),
    runs[1] && counted(runs[1], 'open run stops at its next step', 'open runs stop at their next steps'),
  ].filter(Boolean);
  return parts.length === 0 ? 'Nothing of it runs or waits now.' : `Now ${listed(parts as string[])}.`;
}

function listed(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
