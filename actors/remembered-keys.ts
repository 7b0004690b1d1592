// Keys of requests and of events, each remembered for a day, so that a repetition is recognized.
//
//   key: hash (16)
//   value: until when it is remembered (8, µs) | the data of the key
import type { Reader } from '../runtime/store/store.ts';
import type { Turn } from '../runtime/turn.ts';
import { readUs, usKey } from './job/records/journal.ts';
import { keyText } from './job/records/open.ts';

/** How long a key is remembered. */
export const rememberedUs = 24 * 3_600_000_000;
export const keyHashBytes = 16;
const untilBytes = 8;
/** One turn examines at most this many records for expired ones. */
const sweptPerTurn = 64;

export class RememberedKeys {
  readonly #reader: Reader;
  readonly #table: 'idempotency' | 'dedupe';
  /** Records of this turn: no read shows them before its commit. */
  readonly #fresh = new Map<string, Uint8Array>();
  #turn: Turn | null = null;
  #isSweepDue = false;
  /** Where the next sweep begins. */
  #from: Uint8Array | undefined;

  constructor(reader: Reader, table: 'idempotency' | 'dedupe') {
    this.#reader = reader;
    this.#table = table;
  }

  /** The value that was remembered with the key. Null: the key is new. */
  find(key: Uint8Array, turn: Turn): Uint8Array | null {
    const value = this.#freshIn(turn).get(keyText(key)) ?? this.#reader.get(this.#table, key);
    return value && readUs(value) > turn.nowUs ? value.subarray(untilBytes) : null;
  }

  /** Remembers the key; written by the commit of this turn. */
  remember(key: Uint8Array, value: Uint8Array, turn: Turn): void {
    const record = Buffer.concat([usKey(turn.nowUs + rememberedUs), value]);
    this.#freshIn(turn).set(keyText(key), record);
    turn.batch.put(this.#table, key, record);
    this.#isSweepDue = true;
  }

  /** The next sweep looks for expired keys even if none was added. */
  sweepSoon(): void {
    this.#isSweepDue = true;
  }

  /** Must be called at the end of a turn: removes some expired keys. Keys are not sorted by time. True: there may be more. */
  sweep(turn: Turn): boolean {
    if (!this.#isSweepDue) return false;
    const fresh = this.#freshIn(turn);
    const seen: Buffer[] = [];
    const range = { ...(this.#from && { from: this.#from }), limit: sweptPerTurn };
    this.#isSweepDue = false;
    for (const { key, value } of this.#reader.scan(this.#table, range)) {
      const own = Buffer.from(key);
      seen.push(own);
      if (readUs(value) > turn.nowUs || fresh.has(keyText(own))) continue;
      turn.batch.remove(this.#table, own);
      this.#isSweepDue = true;
    }
    this.#from = seen.length < sweptPerTurn ? undefined : Buffer.concat([seen.at(-1)!, Buffer.of(0)]);
    return this.#isSweepDue;
  }

  #freshIn(turn: Turn): Map<string, Uint8Array> {
    if (this.#turn !== turn) this.#fresh.clear();
    this.#turn = turn;
    return this.#fresh;
  }
}
