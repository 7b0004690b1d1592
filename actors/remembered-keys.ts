// Idempotency keys of requests, and dedupe keys of events. Each key is remembered for 24 hours; within this time a repetition is recognized.
//
//   key: hash (16)
//   value: the time until which the key is remembered (8, µs) | the value passed to `remember`
import { keyAfter } from '../runtime/bytes.ts';
import type { SetAside } from '../runtime/store/set-aside.ts';
import type { Reader } from '../runtime/store/store.ts';
import type { Turn } from '../runtime/turn.ts';
import { readUs, usKey } from './job/records/journal.ts';
import { keyText } from './job/records/open.ts';

export const rememberedUs = 24 * 3_600_000_000;
export const keyHashBytes = 16;
const untilBytes = 8;
/** The maximum number of records that one call of `sweep` checks for expiry. */
const sweptPerTurn = 64;

export class RememberedKeys {
  readonly #reader: Reader;
  readonly #table: 'idempotency' | 'dedupe';
  readonly #setAside: SetAside;
  /** The records that this turn has written. Reads of the store show them only after the commit. */
  readonly #fresh = new Map<string, Uint8Array>();
  #turn: Turn | null = null;
  #isSweepDue = false;
  /** The key at which the next sweep begins. Undefined: the beginning of the table. */
  #from: Uint8Array | undefined;

  constructor(reader: Reader, table: 'idempotency' | 'dedupe', setAside: SetAside) {
    this.#reader = reader;
    this.#table = table;
    this.#setAside = setAside;
  }

  /** The value that was remembered with the key. Null: the key is new or has expired. */
  find(key: Uint8Array, turn: Turn): Uint8Array | null {
    const value = this.#freshIn(turn).get(keyText(key)) ?? this.#reader.get(this.#table, key);
    return value && readUs(value) > turn.nowUs ? value.subarray(untilBytes) : null;
  }

  /** Stores the key and its value for 24 hours, in the commit of the turn. */
  remember(key: Uint8Array, value: Uint8Array, turn: Turn): void {
    const record = Buffer.concat([usKey(turn.nowUs + rememberedUs), value]);
    this.#freshIn(turn).set(keyText(key), record);
    turn.batch.put(this.#table, key, record);
    this.#isSweepDue = true;
  }

  /** Makes the next sweep look for expired keys even if no key was added. */
  sweepSoon(): void {
    this.#isSweepDue = true;
  }

  /**
   * If a sweep is due, removes the expired keys among the next `sweptPerTurn` records. Must be called at the end of a turn. The table is
   * sorted by hash, so expired keys must be searched for. True: keys were removed, and another turn must continue the sweep.
   */
  sweep(turn: Turn): boolean {
    if (!this.#isSweepDue) return false;
    const fresh = this.#freshIn(turn);
    const seen: Buffer[] = [];
    const range = { ...(this.#from && { from: this.#from }), limit: sweptPerTurn };
    this.#isSweepDue = false;
    for (const { key, value } of this.#reader.scan(this.#table, range)) {
      const own = Buffer.from(key);
      seen.push(own);
      const untilUs = this.#setAside.read(this.#table, own, () => readUs(value));
      if (untilUs === undefined || untilUs > turn.nowUs || fresh.has(keyText(own))) continue;
      turn.batch.remove(this.#table, own);
      this.#isSweepDue = true;
    }
    this.#from = seen.length < sweptPerTurn ? undefined : keyAfter(seen.at(-1)!);
    return this.#isSweepDue;
  }

  #freshIn(turn: Turn): Map<string, Uint8Array> {
    if (this.#turn !== turn) this.#fresh.clear();
    this.#turn = turn;
    return this.#fresh;
  }
}
