// A hold: why the queued jobs of a plugin, or of one command of it, are not handed out, and since when.
import { pack, unpack } from '../../../runtime/packing.ts';

/** `plugin`: the configuration cannot run it. `vault`: its secrets cannot be delivered. */
export const holdReasons = ['plugin', 'vault'] as const;
export type HoldReason = (typeof holdReasons)[number];

export type Hold = {
  readonly reason: HoldReason;
  readonly plugin: string;
  /** Null: every command of the plugin. */
  readonly command: string | null;
  detail: string;
  /** When it began to hold a job; 0: it holds none. */
  sinceUs: number;
};

/** Says why nothing of a plugin instance may be handed out; null: it may. */
export type HoldOf = (instance: string) => string | null;

/** The key of its record in `holds`. */
export function holdKey({ reason, plugin, command }: Pick<Hold, 'reason' | 'plugin' | 'command'>): string {
  return `${reason}\0${plugin}\0${command ?? ''}`;
}

export function encodeHold({ sinceUs }: Hold): Uint8Array {
  return pack([sinceUs]);
}

/** Null: the record is none. */
export function decodeHold(key: Uint8Array, value: Uint8Array): Hold | null {
  const [reason = '', plugin = '', command] = Buffer.from(key).toString().split('\0');
  const known = holdReasons.find(name => name === reason);
  if (known === undefined || plugin === '' || command === undefined) return null;
  const [sinceUs] = unpack<[number]>(value);
  return { reason: known, plugin, command: command === '' ? null : command, detail: '', sinceUs };
}
