// Which jobs of a block are unsettled: the small record that is rewritten as its jobs are handed out and settle.
// The persisted part lies inside the in-memory one; what is not encoded here does not survive a crash.
import { pack, unpack } from '../../../runtime/packing.ts';
import { skipValue, wholeAt } from '../../../runtime/splice.ts';
import type { Block } from './block.ts';

/** A block's key as text (latin1), for memory and maps. */
export type KeyText = string;

export function keyText(key: Uint8Array): KeyText {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}

/** Persisted. Jobs below `next` were handed to a worker at least once; `retrying` of them have a record in `retries`. */
type StoredOpenRecord = [
  plugin: string,
  command: string,
  count: number,
  next: number,
  retrying: number,
  /** Jobs that run alone in their frame: they have surely started. */
  solo: number[],
  /** Jobs that were handed out and came back unstarted: they wait again. */
  back: number[],
  /** When jobs of it were last handed out, in µs. */
  outUs: number,
  /** A bit a job; null while none is settled. */
  settled: Uint8Array | null,
];

/** Whether none of the jobs in the record was ever handed out: told without decoding it. */
export function isUntouched(record: Uint8Array): boolean {
  // Behind the head of the list: plugin, command, count.
  const next = skipValue(record, skipValue(record, skipValue(record, 1)));
  return wholeAt(record, next) === 0;
}

export class OpenBlock {
  next = 0;
  retrying = 0;
  solo: number[] = [];
  back: number[] = [];
  outUs = 0;
  #settled: Uint8Array | null = null;
  unsettled: number;
  /** Decoded, while jobs of it are being handed out or run. Not persisted. */
  block: Block | null = null;
  /** What the decoded block counts against the limit of blocks kept in memory. Not persisted. */
  cachedBytes = 0;
  /** How many of its jobs hosts hold. Not persisted. */
  out = 0;
  readonly key: KeyText;
  /** The same as bytes. */
  readonly keyBytes: Uint8Array;
  readonly plugin: string;
  readonly command: string;
  readonly count: number;

  constructor(key: KeyText, plugin: string, command: string, count: number) {
    this.key = key;
    // Of its own: a piece of node's pool would keep 8 KiB of it for each of very many blocks.
    this.keyBytes = new Uint8Array(Buffer.from(key, 'latin1'));
    this.plugin = plugin;
    this.command = command;
    this.count = count;
    this.unsettled = count;
  }

  isSettled(index: number): boolean {
    return this.#settled !== null && (this.#settled[index >> 3]! & (1 << (index & 7))) !== 0;
  }

  settle(index: number): void {
    this.#settled ??= new Uint8Array((this.count + 7) >> 3);
    this.#settled[index >> 3]! |= 1 << (index & 7);
    this.unsettled--;
  }

  /** Whether a host may be running it, as far as the record tells. */
  isOut(index: number): boolean {
    return index < this.next && !this.isSettled(index) && !this.back.includes(index);
  }

  encode(): Uint8Array {
    const { plugin, command, count, next, retrying, solo, back, outUs } = this;
    const kept: StoredOpenRecord = [plugin, command, count, next, retrying, solo, back, outUs, this.#settled];
    return pack(kept);
  }

  static decode(key: KeyText, bytes: Uint8Array): OpenBlock {
    const [plugin, command, count, next, retrying, solo, back, outUs, settled] = unpack<StoredOpenRecord>(bytes);
    const open = new OpenBlock(key, plugin, command, count);
    open.next = next;
    open.retrying = retrying;
    open.solo = solo;
    open.back = back;
    open.outUs = outUs;
    if (settled) {
      open.#settled = Uint8Array.from(settled);
      for (let index = 0; index < count; index++) if (open.isSettled(index)) open.unsettled--;
    }
    return open;
  }
}
