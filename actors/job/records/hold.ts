// A hold: why the queued jobs of a plugin or of one of its commands are not dispatched, and since when. A hold by a pause is derived
// from the record of the pause (pause.ts); any other hold that has jobs has a record in the table `holds`.
import { pack, unpack } from '../../../runtime/packing.ts';

/**
 * The reasons that stored holds have. `plugin`: the plugin is missing or disabled, or its command is missing, or its sandbox is
 * not known to work. `vault`: the plugin's secrets cannot be delivered.
 */
export const holdReasons = ['plugin', 'vault'] as const;
export type HoldReason = (typeof holdReasons)[number];

export type Hold = {
  readonly reason: HoldReason | 'paused';
  readonly plugin: string;
  /** The command whose jobs are held. Null: all commands of the plugin. */
  readonly command: string | null;
  detail: string;
  /** When the hold began to hold jobs, in µs; 0: it held no job when `Holds.keep` last ran. For a pause: when the target was paused. */
  sinceUs: number;
  /** When the hold ends, in µs; absent: unknown. */
  readonly untilUs?: number;
  /** Set if the hold is the pause of the whole service. */
  readonly isOfService?: boolean;
};

/** A source of holds: returns its reason why no job of a plugin instance may be dispatched. Null: it has none. */
export type HoldOf = (instance: string) => string | null;

/** The key of the hold's record in `holds`. */
export function holdKey({ reason, plugin, command }: Pick<Hold, 'reason' | 'plugin' | 'command'>): string {
  return `${reason}\0${plugin}\0${command ?? ''}`;
}

export function encodeHold({ sinceUs }: Hold): Uint8Array {
  return pack([sinceUs]);
}

/** The hold that a record describes. Null: the record is unusable. */
export function decodeHold(key: Uint8Array, value: Uint8Array): Hold | null {
  const [reason = '', plugin = '', command] = Buffer.from(key).toString().split('\0');
  const known = holdReasons.find(name => name === reason);
  if (known === undefined || plugin === '' || command === undefined) return null;
  const [sinceUs] = unpack<[number]>(value);
  return { reason: known, plugin, command: command === '' ? null : command, detail: '', sinceUs };
}
