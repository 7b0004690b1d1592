// The holds other than pauses: which lanes and commands are held, since when, and which holds have lasted too long. Only holds that
// have jobs are stored.

import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { Lane } from '../dispatch/lane.ts';
import { decodeHold, encodeHold, type Hold, type HoldOf, type HoldReason, holdKey } from '../records/hold.ts';
import { writeHoldEnd } from '../records/hold-ends.ts';

/** The sources of holds, in the order in which they are asked. */
export type HoldSources = readonly (readonly [reason: HoldReason, holdOf: HoldOf])[];

export class Holds {
  readonly #sources: HoldSources;
  /** By key: all holds that were found so far, including those that hold no job at the moment (`sinceUs` 0). */
  readonly #known = new Map<string, Hold>();
  readonly #reader: Reader;

  constructor(reader: Reader, sources: HoldSources, setAside: SetAside) {
    this.#reader = reader;
    this.#sources = sources;
    for (const { key, value } of reader.scan('holds', {})) {
      const hold = setAside.read('holds', key, () => decodeHold(key, value));
      if (hold) this.#known.set(holdKey(hold), hold);
    }
  }

  /**
   * The hold of all jobs of the lane, other than a pause. Null: there is none. `isDisabled`: whether the plugin is configured, but
   * disabled.
   */
  ofLane({ name, instance }: Lane, isDisabled: boolean): Hold | null {
    const absence = isDisabled
      ? `the plugin ${name} is disabled`
      : `the configuration has no plugin ${JSON.stringify(name)}`;
    if (!instance) return this.#hold('plugin', name, null, absence);
    for (const [reason, holdOf] of this.#sources) {
      const detail = holdOf(name);
      if (detail !== null) return this.#hold(reason, name, null, detail);
    }
    return null;
  }

  /** The hold of jobs whose command the plugin does not have. */
  ofCommand(plugin: string, command: string): Hold {
    return this.#hold('plugin', plugin, command, `the plugin ${plugin} has no command ${JSON.stringify(command)}`);
  }

  #hold(reason: HoldReason, plugin: string, command: string | null, detail: string): Hold {
    const key = holdKey({ reason, plugin, command });
    let hold = this.#known.get(key);
    if (!hold) {
      hold = { reason, plugin, command, detail, sinceUs: 0 };
      this.#known.set(key, hold);
    }
    hold.detail = detail;
    return hold;
  }

  /**
   * Stores the holds in `used`, which are the holds that have jobs, and removes all other stored holds. Also writes the times at which the
   * removed holds ended, and notes them in the lanes.
   */
  keep(turn: Turn, used: ReadonlySet<Hold>, lanes: ReadonlyMap<string, Lane>): void {
    for (const [key, hold] of this.#known) {
      if (!used.has(hold)) {
        if (hold.sinceUs > 0) {
          turn.batch.remove('holds', Buffer.from(key));
          const { plugin, command } = hold;
          writeHoldEnd(this.#reader, turn.batch, { atUs: turn.nowUs, plugin, command: command ?? '' });
          lanes.get(plugin)?.noteFreed(command, turn.nowUs);
        }
        hold.sinceUs = 0;
      } else if (hold.sinceUs === 0 || hold.sinceUs > turn.nowUs) {
        // If the stored beginning lies in the future, the clock was ahead then: the hold begins again, now.
        hold.sinceUs = turn.nowUs;
        turn.batch.put('holds', Buffer.from(key), encodeHold(hold));
      }
    }
  }

  /**
   * The holds that have lasted for at least `lastingUs`: their jobs fail. A hold by the vault never expires, because the operator
   * decides what happens to its jobs.
   */
  expired(nowUs: number, lastingUs: number): readonly Hold[] {
    if (this.#known.size === 0) return none;
    const isExpired = ({ reason, sinceUs }: Hold) => reason === 'plugin' && sinceUs > 0 && nowUs - sinceUs >= lastingUs;
    return [...this.#known.values()].filter(isExpired);
  }
}

const none: readonly Hold[] = [];
