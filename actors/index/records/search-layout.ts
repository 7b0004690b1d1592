// The tables of the search index. Logs that may have searchable text (`JournalEntry.mayHaveText`) are numbered in the order of the
// journal. The logs are divided into chunks. Each chunk has its own postings: for each word, the logs that contain it.
import { type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import {
  asBuffer,
  isBefore,
  type JournalEntry,
  type JournalPosition,
  journalEntryBytes,
} from '../../job/records/journal.ts';
import { chunkLogs } from './log-set.ts';

/** The name under which the search index keeps its position in the journal. */
export const searchName = 'search';

/** The number of logs in a full page, which is one value of the table `logs`. */
export const pageLogs = 1024;
export const pagesPerChunk = chunkLogs / pageLogs;
/** The length of a log's record: the entry of the journal | time of the commit (8) | place in the commit (4). */
export const recordBytes = journalEntryBytes + 12;

export function numberKey(number: number): Buffer {
  const key = Buffer.allocUnsafe(4);
  key.writeUInt32BE(number, 0);
  return key;
}

export function postingKey(chunk: number, word: string): Buffer {
  const key = Buffer.allocUnsafe(4 + word.length);
  key.writeUInt32BE(chunk, 0);
  for (let i = 0; i < word.length; i++) {
    const code = word.charCodeAt(i);
    if (code > 0x7f) return Buffer.concat([numberKey(chunk), Buffer.from(word)]);
    key[4 + i] = code;
  }
  return key;
}

/** The range of a chunk's postings whose words have this prefix. */
export function postingRange(chunk: number, prefix: string): { readonly from: Buffer; readonly to: Buffer } {
  const from = postingKey(chunk, prefix);
  // The byte 0xff does not occur in UTF-8.
  return { from, to: Buffer.concat([from, Buffer.of(0xff)]) };
}

export function writeRecord(page: Buffer, at: number, entry: JournalEntry): void {
  page.set(entry.record, at);
  page.writeDoubleLE(entry.atUs, at + journalEntryBytes);
  page.writeUInt32LE(entry.place, at + journalEntryBytes + 8);
}

/** Reads the records of logs, page by page. The last page that was read is cached. */
export class Records {
  readonly #reader: Reader<IndexTable>;
  #number = -1;
  #page: Buffer = Buffer.alloc(0);

  constructor(reader: Reader<IndexTable>) {
    this.#reader = reader;
  }

  /** Drops the cached page, because the indexer may have added logs to it. */
  refresh(): void {
    this.#number = -1;
  }

  page(number: number): Buffer {
    if (number !== this.#number) {
      this.#page = asBuffer(this.#reader.get('logs', numberKey(number)) ?? new Uint8Array(0));
      this.#number = number;
    }
    return this.#page;
  }

  /** Whether the log has a record. The indexer removes the records of a chunk when all its logs have been pruned. */
  has(log: number): boolean {
    return this.page(Math.floor(log / pageLogs)).length > (log % pageLogs) * recordBytes;
  }

  idOf(log: number): JobId {
    const at = (log % pageLogs) * recordBytes;
    return this.page(Math.floor(log / pageLogs)).subarray(at, at + jobIdBytes);
  }

  placeOf(log: number): JournalPosition {
    const page = this.page(Math.floor(log / pageLogs));
    const at = (log % pageLogs) * recordBytes + journalEntryBytes;
    return { atUs: page.readDoubleLE(at), place: page.readUInt32LE(at + 8) };
  }

  /** The numbers of the stored logs go from `first` up to, not including, `end`. */
  get bounds(): { readonly first: number; readonly end: number } {
    for (const { key } of this.#reader.scan('logs', { limit: 1 })) {
      for (const last of this.#reader.scan('logs', { reverse: true, limit: 1 })) {
        const end = asBuffer(last.key).readUInt32BE(0) * pageLogs + last.value.length / recordBytes;
        return { first: asBuffer(key).readUInt32BE(0) * pageLogs, end };
      }
    }
    return { first: 0, end: 0 };
  }

  /** The number of the first log at or after this position of the journal; if there is no such log, the end of `bounds`. */
  rank(place: JournalPosition): number {
    let { first: low, end: high } = this.bounds;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (isBefore(this.placeOf(middle), place)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
