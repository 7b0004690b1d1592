// While a pause lasts, its target starts no new job or step. Exempt jobs and their runs (exempt.ts) continue during a pause of the service.
// The target is a plugin, one of its commands, a pipeline, or the whole service.
import { pack, unpack } from '../../../runtime/packing.ts';

export const pauseKinds = ['system', 'pipeline', 'plugin'] as const;
export type PauseKind = (typeof pauseKinds)[number];

/** The target of a pause. Each target has at most one pause. */
export type PauseTarget = {
  readonly kind: PauseKind;
  /** The pipeline or the plugin; empty for the whole service. */
  readonly name: string;
  /** One command of the plugin; null: the whole plugin. */
  readonly command: string | null;
};

export type Pause = PauseTarget & {
  readonly reason: string | null;
  /** Who began the pause: the `submitted_by` of the caller, `breaker` or `restore`. */
  readonly by: string;
  readonly sinceUs: number;
  /** When the pause expires, in µs; null: it lasts until the target is resumed. */
  readonly untilUs: number | null;
  /** How long the pause lasts from `sinceUs`. Absent: `untilUs` does not depend on `sinceUs`. */
  readonly lastsUs?: number;
  /** When the pause expires by the system's clock, if the ledger was ahead of this clock when the pause began. Absent: see `untilUs`. */
  readonly endUs?: number;
  /** Whether new calls and webhook deliveries for the target are refused, instead of waiting. */
  readonly rejects: boolean;
};

/** The `by` of the pause with which a restored state starts (docs/backup.md). */
export const restoreName = 'restore';

/** Whether this pause holds a restored state. While it lasts, schedules fire nothing, and webhook deliveries are refused. */
export function isRestoreHold({ kind, by }: Pause): boolean {
  return kind === 'system' && by === restoreName;
}

/** Whether this is a pause of the whole service under which jobs can be exempt (exempt.ts). In a restored state no job is exempt. */
export function hasExemptions({ kind, by }: Pause): boolean {
  return kind === 'system' && by !== restoreName;
}

/** The `by` of the pauses that breakers begin. */
export const breakerName = 'breaker';

/** Whether this pause has expired and is stored only because its breaker is half open. */
export function isHalfOpen({ by, untilUs }: Pause, nowUs: number): boolean {
  return by === breakerName && untilUs !== null && untilUs <= nowUs;
}

/** The key of the pause's record in `pauses`. */
export function pauseKey({ kind, name, command }: PauseTarget): string {
  return `${kind}\0${name}\0${command ?? ''}`;
}

export function encodePause({ reason, by, sinceUs, untilUs, rejects, lastsUs, endUs }: Pause): Uint8Array {
  const ends = endUs !== undefined ? [lastsUs ?? null, endUs] : lastsUs !== undefined ? [lastsUs] : [];
  return pack([reason, by, sinceUs, untilUs, rejects, ...ends]);
}

/** The pause that a record describes. Null: the record is unusable. */
export function decodePause(key: Uint8Array, value: Uint8Array): Pause | null {
  const [kind = '', name, command] = Buffer.from(key).toString().split('\0');
  const known = pauseKinds.find(one => one === kind);
  if (known === undefined || name === undefined || command === undefined) return null;
  const [reason, by, sinceUs, untilUs, rejects, lastsUs, endUs] =
    unpack<[string | null, string, number, number | null, boolean, (number | null)?, number?]>(value);
  const target = { kind: known, name, command: command === '' ? null : command };
  const lasts = lastsUs !== undefined && lastsUs !== null && { lastsUs };
  return { ...target, reason, by, sinceUs, untilUs, rejects, ...lasts, ...(endUs !== undefined && { endUs }) };
}

/** The target in words, such as `the plugin mailer`, `the command mailer.send`, `the pipeline import` or `the service`. */
export function targetText({ kind, name, command }: PauseTarget): string {
  if (kind === 'system') return 'the service';
  return command === null ? `the ${kind} ${name}` : `the command ${name}.${command}`;
}

/** The reason that is shown for the held jobs. */
export function pauseText(pause: Pause): string {
  const { by, reason } = pause;
  return `${targetText(pause)} is paused by ${by}${reason === null ? '' : `: ${reason}`}`;
}
