// The open record of a block: which of its jobs are unsettled, and the state of their first attempts. The record is small, and is
// rewritten with each change.

import { type BlockKey, jobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import { skipValue, wholeAt } from '../../../runtime/splice.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Block } from './block.ts';
import { type Custody, decodeRetry, type RetryRecord } from './retry.ts';

/** A block's key or a job's id as text (latin1), for use in maps. */
export type KeyText = string;

export function keyText(key: Uint8Array): KeyText {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}

/**
 * The stored form of an open record. Jobs from the index `next` on wait for their first dispatch, in order, unless they have settled or are
 * delayed. `retrying`: how many jobs have a record in `retries`; all of them have indexes below `next`.
 */
type StoredOpenRecord = [
  plugin: string,
  command: string,
  count: number,
  next: number,
  retrying: number,
  /** The indexes of jobs whose first attempt a host has, in a frame without other jobs. */
  sentAlone: number[],
  /** The indexes, below `next`, of jobs that are not delayed and whose first attempt waits, for instance because a host has returned it. */
  returned: number[],
  /** When jobs of the block were last dispatched, in µs; 0: never. For runs and actions: when they were accepted. */
  sentUs: number,
  /** One bit per job, set if the job is settled; null: no job is settled. */
  settled: Uint8Array | null,
  /** Null or absent: no job of the block has times. */
  timed?: StoredTimed | null,
  /** One bit per job, set if plugin code may have run in an attempt that was returned or lost, and not charged; absent: no bit is set. */
  begun?: Uint8Array,
];
/** `delayed`: one bit per job, set if the job is delayed; null: no job is delayed. `rescheduled`: how many jobs were rescheduled. */
type StoredTimed = [delayed: Uint8Array | null, rescheduled: number];

/** Whether `next` is 0, which means that no job of the block was ever dispatched. No other field is decoded. */
export function isUntouched(record: Uint8Array): boolean {
  // Skips the list's head, plugin, command and count.
  const next = skipValue(record, skipValue(record, skipValue(record, 1)));
  return wholeAt(record, next) === 0;
}

export class OpenBlock {
  next = 0;
  retrying = 0;
  sentUs = 0;
  #sentAlone: readonly number[] = [];
  #returned: readonly number[] = [];
  #settled: Uint8Array | null = null;
  #delayed: Uint8Array | null = null;
  #begun: Uint8Array | null = null;
  unsettled: number;
  /** Whether any job of the block has times (records/options.ts). */
  isTimed = false;
  /** How many jobs of the block are delayed. */
  delayed = 0;
  /** How many jobs of the block were rescheduled. */
  rescheduled = 0;
  /** The decoded block, if it is in memory. Not stored. */
  block: Block | null = null;
  /** The share of this block in `JobState.cachedBytes`; 0 if the block was read from the store. Not stored. */
  cachedBytes = 0;
  /** The backlog in which the undispatched jobs of the block wait. Not stored. */
  waitsIn: { changeWaiting(command: string, change: number): void } | null = null;
  /** The number of jobs of the block that hosts have. Not stored. */
  inFlight = 0;
  readonly key: KeyText;
  readonly keyBytes: Uint8Array;
  readonly plugin: string;
  readonly command: string;
  readonly count: number;

  constructor(key: KeyText, plugin: string, command: string, count: number) {
    this.key = key;
    // The key has a buffer of its own: a slice of Node's buffer pool would keep several KiB in memory, and there may be very many blocks.
    this.keyBytes = new Uint8Array(Buffer.from(key, 'latin1'));
    this.plugin = plugin;
    this.command = command;
    this.count = count;
    this.unsettled = count;
  }

  isSettled(index: number): boolean {
    return hasBit(this.#settled, index);
  }

  settle(index: number): void {
    this.#forget(index);
    this.wake(index);
    this.#settled = withBit(this.#settled, index, this.count);
    this.unsettled--;
  }

  /** Makes all jobs of a new block delayed. */
  delayAll(): void {
    this.isTimed = true;
    for (let index = 0; index < this.count; index++) this.#delayed = withBit(this.#delayed, index, this.count);
    this.delayed = this.count;
  }

  isDelayed(index: number): boolean {
    return hasBit(this.#delayed, index);
  }

  /** Ends the delay of the job. False: the job was not delayed. */
  wake(index: number): boolean {
    if (!this.isDelayed(index)) return false;
    this.#delayed![index >> 3]! &= ~(1 << (index & 7));
    this.delayed--;
    if (this.delayed === 0) this.#delayed = null;
    return true;
  }

  /** How many jobs from the index `next` on are unsettled. */
  get untouched(): number {
    if (this.#settled === null) return this.count - this.next;
    let left = 0;
    for (let index = this.next; index < this.count; index++) if (!this.isSettled(index)) left++;
    return left;
  }

  /**
   * The state of the first attempt of an unsettled job without a record in `retries`. If the attempt was sent, `dueUs` is the time at which
   * jobs of the block were last dispatched.
   */
  firstAttempt(index: number): RetryRecord {
    if (this.awaitsFirst(index)) return { attempt: 1, custody: 'waiting', dueUs: 0 };
    const custody = this.#sentAlone.includes(index) ? 'sentAlone' : 'sent';
    return { attempt: 1, custody, dueUs: this.sentUs };
  }

  /** Records the custody of a job's first attempt. Null: the job now has a record in `retries` instead. */
  noteFirst(index: number, custody: Custody | null): void {
    this.#forget(index);
    if (custody === 'sentAlone') this.#sentAlone = [...this.#sentAlone, index];
    else if (custody === 'waiting' || custody === 'suspect') this.#returned = [...this.#returned, index];
  }

  /** Whether the job waits for its first attempt. */
  awaitsFirst(index: number): boolean {
    return !this.isSettled(index) && (index >= this.next || this.#returned.includes(index) || this.isDelayed(index));
  }

  /** Whether the job waits for its first attempt, and none of its plugin code can have run. */
  isUnstarted(index: number): boolean {
    return this.awaitsFirst(index) && !this.hasBegun(index);
  }

  /** Records that plugin code of the job may have run, although its attempt is not charged. */
  noteBegun(index: number): void {
    this.#begun = withBit(this.#begun, index, this.count);
  }

  /** Whether an attempt of the job that was not charged may have run plugin code. */
  hasBegun(index: number): boolean {
    return hasBit(this.#begun, index);
  }

  /** Whether any job below `next`, excluding delayed jobs, waits for its first attempt. */
  get hasReturned(): boolean {
    return this.#returned.length > 0;
  }

  #forget(index: number): void {
    if (this.#sentAlone.length > 0) this.#sentAlone = this.#sentAlone.filter(other => other !== index);
    if (this.#returned.length > 0) this.#returned = this.#returned.filter(other => other !== index);
  }

  encode(): Uint8Array {
    const { plugin, command, count, next, retrying, sentUs } = this;
    const record = [
      plugin,
      command,
      count,
      next,
      retrying,
      this.#sentAlone,
      this.#returned,
      sentUs,
      this.#settled,
    ] as const;
    const timed: StoredTimed | null = this.isTimed ? [this.#delayed, this.rescheduled] : null;
    if (this.#begun) return pack([...record, timed, this.#begun]);
    return pack(timed ? [...record, timed] : record);
  }

  static decode(key: KeyText, bytes: Uint8Array): OpenBlock {
    const [plugin, command, count, next, retrying, sentAlone, returned, sentUs, settled, timed, begun] =
      unpack<StoredOpenRecord>(bytes);
    const open = new OpenBlock(key, plugin, command, count);
    open.next = next;
    open.retrying = retrying;
    open.#sentAlone = sentAlone;
    open.#returned = returned;
    open.sentUs = sentUs;
    if (begun) open.#begun = Uint8Array.from(begun);
    if (settled) {
      open.#settled = Uint8Array.from(settled);
      for (let index = 0; index < count; index++) if (open.isSettled(index)) open.unsettled--;
    }
    if (timed) {
      const [delayed, rescheduled] = timed;
      open.isTimed = true;
      open.rescheduled = rescheduled;
      open.#delayed = delayed && Uint8Array.from(delayed);
      for (let index = 0; index < count; index++) if (open.isDelayed(index)) open.delayed++;
    }
    return open;
  }
}

function hasBit(bits: Uint8Array | null, index: number): boolean {
  return bits !== null && (bits[index >> 3]! & (1 << (index & 7))) !== 0;
}

/** Sets the bit. `count`: the number of bits, if there are none yet. */
function withBit(bits: Uint8Array | null, index: number, count: number): Uint8Array {
  const changed = bits ?? new Uint8Array((count + 7) >> 3);
  changed[index >> 3]! |= 1 << (index & 7);
  return changed;
}

/** The open record of the block with this key. Undefined: all jobs of the block are settled. */
export function findOpen(reader: Reader, key: BlockKey): OpenBlock | undefined {
  const bytes = reader.get('open', key);
  return bytes && OpenBlock.decode(keyText(key), bytes);
}

/** The running or next attempt of an unsettled job. */
export function attemptOf(reader: Reader, open: OpenBlock, index: number): RetryRecord {
  const bytes = open.retrying > 0 ? reader.get('retries', jobId(open.keyBytes, index)) : undefined;
  return bytes ? decodeRetry(bytes) : open.firstAttempt(index);
}
