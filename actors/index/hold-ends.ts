// The times at which pauses and other holds ended. The stopwatch uses them to find when a held job could first run.
import { hexOf } from '../../runtime/bytes.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { countsKey } from '../job/records/counts.ts';
import { readHoldEnds } from '../job/records/hold-ends.ts';

export class HoldEnds {
  readonly #reader: Reader;
  /** The times in µs at which holds ended, oldest first, by plugin and command. */
  readonly #times = new Map<string, number[]>();
  /** The newest key among the records that were read, and the number of records. While both stay the same, `refresh` does not read again. */
  #read = '';

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Reads the records again if some were added or removed. */
  refresh(): void {
    const count = this.#reader.count('hold_ends');
    let newest = '';
    if (count > 0) for (const key of this.#reader.keys('hold_ends', { reverse: true, limit: 1 })) newest = hexOf(key);
    const read = `${newest} ${count}`;
    if (read === this.#read) return;
    this.#read = read;
    this.#times.clear();
    for (const { atUs, plugin, command } of readHoldEnds(this.#reader)) {
      const key = countsKey(plugin, command);
      const times = this.#times.get(key);
      if (times) times.push(atUs);
      else this.#times.set(key, [atUs]);
    }
  }

  /**
   * The latest time after `fromUs` and up to `toUs` at which a hold of this command, of its plugin or of the whole
   * service ended. Null: no such hold ended in that period.
   */
  last(plugin: string, command: string, fromUs: number, toUs: number): number | null {
    if (this.#times.size === 0) return null;
    const keys = [countsKey(plugin, command), countsKey(plugin, ''), countsKey('', '')];
    const found = keys.map(key => lastUpTo(this.#times.get(key) ?? [], toUs));
    const last = Math.max(...found);
    return last > fromUs ? last : null;
  }
}

/** The last of the sorted times that is at or before `toUs`; 0: all times are later. */
function lastUpTo(times: readonly number[], toUs: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= toUs) low = middle + 1;
    else high = middle;
  }
  return times[low - 1] ?? 0;
}
