// The journal has a value for each commit in which attempts ended, under the time of the commit. The value has an entry for each of these
// attempts, in order, and is removed when all of them have been pruned. A job that ended without an attempt has an entry with the attempt
// number 0. The list of logs searches these short entries instead of the attempts.
//
//   id (16) | attempt (2) | status (1) | flags (1) | queued for, ran for (8 each, µs) | command (4) | submitter (4)

import { copyBytes } from '../../../runtime/bytes.ts';
import { type Body, hasPart, hasText } from '../../../runtime/host/wire/outcome.ts';
import { blockKeyBytes } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Attempt, StoredAttempt } from './attempt.ts';
import { type AttemptPage, pageWith } from './attempts.ts';
import { statuses, type TerminalStatus } from './job.ts';

export const journalEntryBytes = 44;
const attemptAt = 16;
export const statusAt = 18;
const commandAt = 36;
const submitterAt = 40;
const flagsAt = 19;
const finalFlag = 1;
const tellingFlag = 2;
const spansFlag = 4;
const stepFlag = 8;
const delayedFlag = 16;

/** The status in the entry of a pruned attempt. The entry stays, because the other entries must keep their positions. */
export const prunedStatus = 0xff;
const cancelledCode = statuses.indexOf('cancelled');

/**
 * Whether the job was cancelled before its first attempt. The list of logs leaves out the job's log, unless a filter asks for cancelled
 * jobs or for this job.
 */
export function isNeverStarted(status: TerminalStatus, attempt: number): boolean {
  return status === 'cancelled' && attempt === 0;
}

/**
 * Whether the attempt ran. An attempt that was cancelled or timed out before its start has run for 0 µs. A job that ended without an attempt
 * has an entry with the number 0.
 */
export function hasRun(status: TerminalStatus, attempt: number, ranUs: number): boolean {
  return attempt > 0 && (ranUs > 0 || (status !== 'cancelled' && status !== 'timed_out'));
}

/** The entry of an ended attempt. Fields are decoded on demand from the value of the commit. */
export class JournalEntry {
  /** When the attempt ended: the time of its commit, in µs. */
  readonly atUs: number;
  /** The position of the entry among the entries of the commit. */
  readonly place: number;
  readonly #bytes: Buffer;
  readonly #at: number;

  constructor(atUs: number, place: number, bytes: Buffer) {
    this.atUs = atUs;
    this.place = place;
    this.#bytes = bytes;
    this.#at = place * journalEntryBytes;
  }

  matches(filter: EntryFilter): boolean {
    return matchesEntry(filter, this.#bytes, this.#at);
  }

  get statusCode(): number {
    return this.#bytes[this.#at + statusAt]!;
  }

  /** The id of the job (16 bytes), not copied. */
  get id(): Uint8Array {
    return this.#bytes.subarray(this.#at, this.#at + 16);
  }

  /** The index of the job in its block. */
  get index(): number {
    return this.#bytes.readUInt32BE(this.#at + blockKeyBytes);
  }

  /** Whether the page has the attempt of this entry. */
  isIn(page: AttemptPage): boolean {
    if (page.number !== this.attempt || !page.has(this.index)) return false;
    const { key } = page;
    for (let i = 0; i < blockKeyBytes; i++) if (this.#bytes[this.#at + i] !== key[i]) return false;
    return true;
  }

  /** The number of the attempt; 0: the job ended without an attempt. */
  get attempt(): number {
    return this.#bytes.readUInt16BE(this.#at + attemptAt);
  }

  get status(): TerminalStatus {
    return statuses[this.#bytes[this.#at + statusAt]!] as TerminalStatus;
  }

  get isNeverStarted(): boolean {
    return this.statusCode === cancelledCode && this.attempt === 0;
  }

  get final(): boolean {
    return (this.#bytes[this.#at + flagsAt]! & finalFlag) !== 0;
  }

  /** Whether the attempt may have searchable text: its body has a part that is neither spans nor a null result. */
  get mayHaveText(): boolean {
    return (this.#bytes[this.#at + flagsAt]! & tellingFlag) !== 0;
  }

  /** Whether the response of the attempt reported spans. */
  get hasSpans(): boolean {
    return (this.#bytes[this.#at + flagsAt]! & spansFlag) !== 0;
  }

  /** Whether the job belongs to a step of a pipeline. False for jobs that stand for runs or actions. */
  get isInStep(): boolean {
    return (this.#bytes[this.#at + flagsAt]! & stepFlag) !== 0;
  }

  /** Whether the job was accepted with a time to run. False for jobs that stand for runs or actions. */
  get delayed(): boolean {
    return (this.#bytes[this.#at + flagsAt]! & delayedFlag) !== 0;
  }

  /** The time from the acceptance of the job to the start of this attempt. */
  get queuedUs(): number {
    return this.#bytes.readDoubleLE(this.#at + 20);
  }

  get ranUs(): number {
    return this.#bytes.readDoubleLE(this.#at + 28);
  }

  /** The number of the plugin and command in the `NameTable` (name-table.ts). */
  get commandNumber(): number {
    return this.#bytes.readUInt32LE(this.#at + commandAt);
  }

  /** The whole encoded entry, not copied. */
  get record(): Uint8Array {
    return this.#bytes.subarray(this.#at, this.#at + journalEntryBytes);
  }

  get submitterNumber(): number {
    return this.#bytes.readUInt32LE(this.#at + submitterAt);
  }
}

/** The entries of a commit in order, except pruned ones. */
export function entriesOf(atUs: number, value: Uint8Array): JournalEntry[] {
  const bytes = asBuffer(value);
  const entries: JournalEntry[] = [];
  for (let at = 0, place = 0; at < bytes.length; at += journalEntryBytes, place++) {
    if (bytes[at + statusAt] !== prunedStatus) entries.push(new JournalEntry(atUs, place, bytes));
  }
  return entries;
}

export function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/** The entry at this position of a commit. Undefined: the entry was pruned, or the commit has no such position. */
export function entryAt(atUs: number, place: number, value: Uint8Array): JournalEntry | undefined {
  const status = value[place * journalEntryBytes + statusAt];
  return status === undefined || status === prunedStatus ? undefined : new JournalEntry(atUs, place, asBuffer(value));
}

export type JournalPosition = { readonly atUs: number; readonly place: number };

/** A filter of logs, with names replaced by their numbers. */
export type EntryFilter = {
  /** The code of the status; -1: any status. */
  readonly status: number;
  /** By command number: 1 if the command is selected. Null: all commands are selected. */
  readonly commands: Uint8Array | null;
  /** The number of the submitter; -1: any submitter. */
  readonly submitter: number;
  /** Whether jobs that were cancelled before their first attempt are left out. */
  readonly onlyStarted: boolean;
  readonly fromUs: number;
  readonly toUs: number;
};

/** Whether the entry at this offset matches the filter, except for its times, which the caller compares. */
export function matchesEntry(filter: EntryFilter, bytes: Buffer, at: number): boolean {
  const { status, commands, submitter, onlyStarted } = filter;
  const found = bytes[at + statusAt]!;
  if (found === prunedStatus || (status >= 0 && found !== status)) return false;
  if (onlyStarted && found === cancelledCode && bytes.readUInt16BE(at + attemptAt) === 0) return false;
  if (commands !== null && commands[bytes.readUInt32LE(at + commandAt)] !== 1) return false;
  return submitter < 0 || bytes.readUInt32LE(at + submitterAt) === submitter;
}

/** Whether `a` comes before `b` in the journal, and so after `b` in lists, which show the newest first. */
export function isBefore(a: JournalPosition, b: JournalPosition): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.place < b.place);
}

/** Reads the attempts of entries. It caches the last page, since neighbouring entries often share one. */
export class AttemptReader {
  readonly #reader: Reader;
  #last: AttemptPage | undefined;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** The attempt of an entry. Undefined: it was pruned, or cannot be decoded. */
  find(entry: JournalEntry): StoredAttempt | undefined {
    return readable(() => this.#pageWith(entry)?.attempt(entry.index));
  }

  /** The body of an entry's attempt. Undefined: the attempt was pruned, or cannot be decoded. */
  findBody(entry: JournalEntry): Body | undefined {
    return readable(() => this.#pageWith(entry)?.attempt(entry.index)?.body);
  }

  #pageWith(entry: JournalEntry): AttemptPage | undefined {
    if (this.#last === undefined || !entry.isIn(this.#last))
      this.#last = pageWith(this.#reader, entry.id, entry.attempt);
    return this.#last;
  }
}

/** When the job of an attempt was accepted, whether the job belongs to a step, and whether it was accepted with a time to run. */
type JournalOrigin = { readonly createdUs: number; readonly inStep: boolean; readonly isDelayed?: boolean };

/** Collects the entries of one commit. */
export class JournalPage {
  #bytes = Buffer.allocUnsafe(64 * journalEntryBytes);
  length = 0;

  add(
    id: Uint8Array,
    number: number,
    owner: JournalOrigin,
    attempt: Attempt,
    command: number,
    submitter: number,
  ): void {
    const { createdUs } = owner;
    if (this.length === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], this.#bytes.length * 2);
    const at = this.length;
    const bytes = this.#bytes;
    copyBytes(bytes, at, id);
    bytes.writeUInt16BE(number, at + 16);
    bytes[at + statusAt] = statuses.indexOf(attempt.status);
    bytes[at + flagsAt] = flagsOf(attempt, owner);
    bytes.writeDoubleLE(Math.max(0, attempt.startedUs - createdUs), at + 20);
    bytes.writeDoubleLE(Math.max(0, attempt.completedUs - attempt.startedUs), at + 28);
    bytes.writeUInt32LE(command, at + commandAt);
    bytes.writeUInt32LE(submitter, at + submitterAt);
    this.length = at + journalEntryBytes;
  }

  /** Returns the added entries as one value, and forgets them. */
  take(): Buffer {
    const value = Buffer.from(this.#bytes.subarray(0, this.length));
    this.length = 0;
    return value;
  }
}

function flagsOf({ final, body }: Attempt, { inStep, isDelayed }: JournalOrigin): number {
  const mayHaveText = (final ? finalFlag : 0) | (hasText(body) ? tellingFlag : 0);
  const origin = (inStep ? stepFlag : 0) | (isDelayed ? delayedFlag : 0);
  return mayHaveText | origin | (hasPart(body, 'spans') ? spansFlag : 0);
}

/** A time as a key: 8 bytes, big endian. */
export function usKey(us: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(Math.floor(us / 2 ** 32), 0);
  key.writeUInt32BE(us % 2 ** 32, 4);
  return key;
}

export function readUs(key: Uint8Array): number {
  const bytes = asBuffer(key);
  return bytes.readUInt32BE(0) * 2 ** 32 + bytes.readUInt32BE(4);
}

/** The time of the newest commit in the journal; null: the journal is empty. */
export function newestCommitUs(reader: Reader): number | null {
  for (const { key } of reader.scan('journal', { reverse: true, limit: 1 })) return readUs(key);
  return null;
}

/**
 * The progress of pruning. Attempts that ended at `upToUs` or earlier may have been pruned; later ones are stored. `number` grows by
 * one with each commit that prunes.
 */
export type PruneMark = { readonly upToUs: number; readonly number: number };
const prunedKey = Buffer.from('pruned');

export function readPruneMark(reader: Reader): PruneMark {
  const value = reader.get('meta', prunedKey);
  if (!value) return { upToUs: 0, number: 0 };
  const bytes = asBuffer(value);
  return { upToUs: bytes.readDoubleLE(0), number: bytes.readDoubleLE(8) };
}

export function pruneMarkRecord({ upToUs, number }: PruneMark): readonly [key: Buffer, value: Buffer] {
  const value = Buffer.allocUnsafe(16);
  value.writeDoubleLE(upToUs, 0);
  value.writeDoubleLE(number, 8);
  return [prunedKey, value];
}
