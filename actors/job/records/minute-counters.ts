// How many jobs settled in each minute. A sum over a day reads about 1,440 records, however many jobs there were.
import { pack, unpack } from '../../../runtime/packing.ts';
import { readable, SetAside } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { type TerminalStatus, terminalStatuses } from './job.ts';
import { readUs, usKey } from './journal.ts';

/** The window of `settledRecently`. Records are kept for an hour longer. */
export const summaryWindowUs = 24 * 3_600_000_000;
const keptUs = summaryWindowUs + 3_600_000_000;
const minuteUs = 60_000_000;
/** The maximum number of records that one call of `prune` removes. */
const prunedPerTurnMax = 64;

export type SettledCounts = { [S in TerminalStatus]: number };

/** Counts settled jobs by minute and status. Each turn in which jobs settle writes the record of its minute once. */
export class MinuteCounters {
  readonly #reader: Reader;
  readonly #setAside: SetAside;
  #minute = -1;
  #counts = none();
  #dirty = false;

  constructor(reader: Reader, setAside = new SetAside()) {
    this.#reader = reader;
    this.#setAside = setAside;
  }

  settled(status: TerminalStatus, nowUs: number): void {
    const minute = Math.floor(nowUs / minuteUs);
    if (minute !== this.#minute) {
      const key = minuteKey(minute);
      const kept = this.#reader.get('minutes', key);
      this.#minute = minute;
      this.#counts = (kept && this.#setAside.read('minutes', key, () => countsIn(kept))) || none();
    }
    this.#counts[status]++;
    this.#dirty = true;
  }

  close(batch: Batch): void {
    if (!this.#dirty) return;
    this.#dirty = false;
    batch.put('minutes', minuteKey(this.#minute), pack(this.#counts));
  }

  /** Removes records that are older than `keptUs`, at most `prunedPerTurnMax`. */
  prune(nowUs: number, batch: Batch): void {
    const to = minuteKey(Math.floor((nowUs - keptUs) / minuteUs));
    for (const { key } of this.#reader.scan('minutes', { to, limit: prunedPerTurnMax })) {
      batch.remove('minutes', Buffer.from(key));
    }
  }
}

/** How many jobs settled in the last 24 hours, to the minute, by status. */
export function settledRecently(reader: Reader, nowUs: number): SettledCounts {
  const sum = none();
  for (const { counts } of settledSince(reader, Math.floor((nowUs - summaryWindowUs) / minuteUs)))
    for (const status of terminalStatuses) sum[status] += counts[status];
  return sum;
}

/**
 * How many jobs settled in each minute from `minute` on, oldest first. Minutes are numbered from the epoch. Minutes in which no job settled,
 * and minutes with unusable records, are left out.
 */
export function* settledSince(
  reader: Reader,
  minute: number,
): Iterable<{ readonly minute: number; readonly counts: Readonly<SettledCounts> }> {
  for (const { key, value } of reader.scan('minutes', { from: minuteKey(minute) })) {
    const counts = readable(() => countsIn(value));
    if (counts) yield { minute: readUs(key) / minuteUs, counts };
  }
}

function minuteKey(minute: number): Buffer {
  return usKey(Math.max(0, minute) * minuteUs);
}

/** Decodes a record. A status that was added after the record was written counts as 0. */
function countsIn(value: Uint8Array): SettledCounts {
  return { ...none(), ...unpack<Partial<SettledCounts>>(value) };
}

function none(): SettledCounts {
  return { succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: 0 };
}
