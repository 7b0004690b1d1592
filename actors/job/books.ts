// What the job actor writes besides blocks: attempts, the journal of a commit, counters and plugin states.
import type { Json } from '../../runtime/packing.ts';
import { pack, packedEmpty, unpack } from '../../runtime/packing.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import { type Attempt, attemptKey, encodeAttempt } from './attempt.ts';
import { statuses, type TerminalStatus, terminalStatuses } from './record.ts';

/** The most that a plugin's state may take, packed. */
export const stateBytesMax = 2 ** 20;
/** id (16) | attempt (2) | status (1) | final (1) | queued for, ran for (8 each, µs). */
export const journalEntryBytes = 36;

/** Kept counters of one plugin and command. */
export type Counts = { accepted: number } & { [S in TerminalStatus]: number };

export class Books {
  readonly #reader: Reader;
  readonly counts = new Map<string, Counts>();
  /** Settled jobs that are still kept: what `retention.max_jobs` bounds. */
  settledKept = 0;
  readonly #dirtyCounts = new Set<string>();
  readonly #states = new Map<string, { bytes: Uint8Array; dirty: boolean }>();
  #journal = Buffer.allocUnsafe(64 * journalEntryBytes);
  #journalBytes = 0;
  #journalUs = 0;

  constructor(reader: Reader) {
    this.#reader = reader;
    for (const { key, value } of reader.scan('counters', {})) {
      const counts = unpack<Counts>(value);
      this.counts.set(Buffer.from(key).toString(), counts);
      for (const status of terminalStatuses) this.settledKept += counts[status];
    }
    for (const { key } of reader.scan('journal', { reverse: true, limit: 1 })) this.#journalUs = readUs(key);
  }

  accepted(plugin: string, command: string, jobs: number): void {
    this.#countsOf(plugin, command).accepted += jobs;
  }

  /** The time of this commit in the journal: later than that of every commit before. */
  commitUs(nowUs: number): number {
    return this.#journalBytes > 0 ? this.#journalUs : Math.max(nowUs, this.#journalUs + 1);
  }

  /** Writes one ended attempt. `createdUs`: when the job was accepted. */
  attempt(
    batch: Batch,
    plugin: string,
    command: string,
    id: Uint8Array,
    number: number,
    createdUs: number,
    attempt: Attempt,
  ): void {
    this.#journalUs = attempt.completedUs;
    batch.put('attempts', attemptKey(id, number), encodeAttempt(attempt));
    if (attempt.final) {
      this.#countsOf(plugin, command)[attempt.status]++;
      this.settledKept++;
    }
    if (this.#journalBytes === this.#journal.length)
      this.#journal = Buffer.concat([this.#journal], this.#journal.length * 2);
    const at = this.#journalBytes;
    const journal = this.#journal;
    journal.set(id, at);
    journal.writeUInt16BE(number, at + 16);
    journal[at + 18] = statuses.indexOf(attempt.status);
    journal[at + 19] = attempt.final ? 1 : 0;
    journal.writeDoubleLE(Math.max(0, attempt.startedUs - createdUs), at + 20);
    journal.writeDoubleLE(Math.max(0, attempt.completedUs - attempt.startedUs), at + 28);
    this.#journalBytes = at + journalEntryBytes;
  }

  /** A settled job is no longer kept. */
  pruned(plugin: string, command: string, status: TerminalStatus): void {
    const counts = this.#countsOf(plugin, command);
    counts.accepted--;
    counts[status]--;
    this.settledKept--;
  }

  /** The state of a plugin as of now, packed. */
  state(instance: string): Uint8Array {
    const known = this.#states.get(instance);
    if (known) return known.bytes;
    const bytes = this.#reader.get('states', Buffer.from(instance)) ?? packedEmpty;
    this.#states.set(instance, { bytes, dirty: false });
    return bytes;
  }

  /** Lays updates over the state, key by key. Returns what is wrong when the state would get too large. */
  updateState(instance: string, updates: Uint8Array): string | null {
    const merged = { ...unpack<Record<string, Json>>(this.state(instance)), ...unpack<Record<string, Json>>(updates) };
    const bytes = pack(merged);
    if (bytes.length > stateBytesMax)
      return `the plugin's state would take ${bytes.length} bytes; at most ${stateBytesMax} are kept`;
    this.#states.set(instance, { bytes, dirty: true });
    return null;
  }

  /** Puts what gathered in this turn into its commit. */
  close(batch: Batch): void {
    if (this.#journalBytes > 0) {
      batch.put('journal', usKey(this.#journalUs), Buffer.from(this.#journal.subarray(0, this.#journalBytes)));
      this.#journalBytes = 0;
    }
    for (const key of this.#dirtyCounts) batch.put('counters', Buffer.from(key), pack(this.counts.get(key)));
    this.#dirtyCounts.clear();
    for (const [instance, state] of this.#states) {
      if (!state.dirty) continue;
      state.dirty = false;
      batch.put('states', Buffer.from(instance), state.bytes);
    }
  }

  #countsOf(plugin: string, command: string): Counts {
    const key = `${plugin}\0${command}`;
    this.#dirtyCounts.add(key);
    let counts = this.counts.get(key);
    if (!counts) {
      counts = { accepted: 0, ...Object.fromEntries(terminalStatuses.map(status => [status, 0])) } as Counts;
      this.counts.set(key, counts);
    }
    return counts;
  }
}

/** A time as a key: 8 bytes, big endian. */
export function usKey(us: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeBigUInt64BE(BigInt(us));
  return key;
}

function readUs(key: Uint8Array): number {
  return Number(Buffer.from(key).readBigUInt64BE());
}
