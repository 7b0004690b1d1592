// A pause: nothing new starts of a plugin, of one of its commands, of a pipeline or of the whole service, until it is resumed.
import { pack, unpack } from '../../../runtime/packing.ts';

export const pauseKinds = ['system', 'pipeline', 'plugin'] as const;
export type PauseKind = (typeof pauseKinds)[number];

/** There is at most one pause of a target. */
export type PauseTarget = {
  readonly kind: PauseKind;
  /** The pipeline or the plugin; empty for the system. */
  readonly name: string;
  /** One command of the plugin; null: all of the target. */
  readonly command: string | null;
};

export type Pause = PauseTarget & {
  readonly reason: string | null;
  /** Who paused it: the origin of a token. */
  readonly by: string;
  readonly sinceUs: number;
  /** When it ends by itself; null: only when somebody resumes it. */
  readonly untilUs: number | null;
  /** New calls and webhook deliveries are refused. */
  readonly rejects: boolean;
};

/** The key of its record in `pauses`. */
export function pauseKey({ kind, name, command }: PauseTarget): string {
  return `${kind}\0${name}\0${command ?? ''}`;
}

export function encodePause({ reason, by, sinceUs, untilUs, rejects }: Pause): Uint8Array {
  return pack([reason, by, sinceUs, untilUs, rejects]);
}

/** Null: the record is no pause. */
export function decodePause(key: Uint8Array, value: Uint8Array): Pause | null {
  const [kind = '', name, command] = Buffer.from(key).toString().split('\0');
  const known = pauseKinds.find(one => one === kind);
  if (known === undefined || name === undefined || command === undefined) return null;
  const [reason, by, sinceUs, untilUs, rejects] =
    unpack<[string | null, string, number, number | null, boolean]>(value);
  return { kind: known, name, command: command === '' ? null : command, reason, by, sinceUs, untilUs, rejects };
}

/** `the plugin mailer`, `the command mailer.send`, `the pipeline import`, `the service`. */
export function targetText({ kind, name, command }: PauseTarget): string {
  if (kind === 'system') return 'the service';
  return command === null ? `the ${kind} ${name}` : `the command ${name}.${command}`;
}

/** Why it holds jobs, for people. */
export function pauseText(pause: Pause): string {
  const { by, reason } = pause;
  return `${targetText(pause)} is paused by ${by}${reason === null ? '' : `: ${reason}`}`;
}
