// Writes the table of failed jobs: appends records to its last page, and removes the records of pruned jobs.
import { keyAfter } from '../../runtime/bytes.ts';
import type { Batch, IndexTable, Reader } from '../../runtime/store/store.ts';
import { type JournalEntry, type JournalPosition, readUs } from '../job/records/journal.ts';
import {
  type FailureRecord,
  failurePageRecords,
  failurePages,
  failureRecordBytes,
  readFailurePlace,
  readFailureRecord,
  writeFailureRecord,
} from './records/failures.ts';
import { positionBytes } from './records/position.ts';

const pageBytes = failurePageRecords * failureRecordBytes;
/** The maximum number of pages that one step of a sweep, or one scan, reads. */
const pagesPerStep = 8;

type LastPage = { readonly key: Buffer; readonly bytes: Buffer; length: number; isChanged: boolean };

export class FailurePages {
  readonly #index: Reader<IndexTable>;
  /** The page to which records are appended. Null: it must be read. */
  #last: LastPage | null = null;

  constructor(index: Reader<IndexTable>) {
    this.#index = index;
  }

  /** Appends a record. `key`: the key of its group. */
  append(at: JournalPosition, key: Uint8Array, batch: Batch<IndexTable>): void {
    this.#last ??= this.#stored();
    if (this.#last === null || this.#last.length === pageBytes) {
      this.write(batch);
      this.#last = { key: positionBytes(at), bytes: Buffer.alloc(pageBytes), length: 0, isChanged: true };
    }
    writeFailureRecord(this.#last.bytes, this.#last.length, at, key);
    this.#last.length += failureRecordBytes;
    this.#last.isChanged = true;
  }

  /** Writes the last page, if records were appended. */
  write(batch: Batch<IndexTable>): void {
    const last = this.#last;
    if (!last?.isChanged) return;
    batch.put('failed_jobs', last.key, Buffer.from(last.bytes.subarray(0, last.length)));
    last.isChanged = false;
  }

  #stored(): LastPage | null {
    const [last] = failurePages(this.#index, { reverse: true, limit: 1 });
    if (last === undefined) return null;
    const bytes = Buffer.alloc(pageBytes);
    last.page.copy(bytes);
    return { key: last.key, bytes, length: last.page.length, isChanged: false };
  }

  /** All records, oldest first. */
  *records(): Iterable<FailureRecord> {
    for (let from: Buffer | null = null; ; ) {
      const pages = failurePages(this.#index, { ...(from && { from }), limit: pagesPerStep });
      for (const { page } of pages)
        for (let at = 0; at < page.length; at += failureRecordBytes) yield readFailureRecord(page, at);
      if (pages.length < pagesPerStep) return;
      from = keyAfter(pages.at(-1)!.key);
    }
  }

  /**
   * Removes the records of pruned jobs from some pages, beginning at the key `from` (null: at the oldest page), and
   * calls `gone` for each removed record. Only jobs that ended at `upToUs` or earlier may have been pruned. Returns the
   * key at which the next step begins; null: the sweep is complete.
   */
  sweep(
    from: Buffer | null,
    upToUs: number,
    entryOf: (place: JournalPosition) => JournalEntry | undefined,
    gone: (record: FailureRecord) => void,
    batch: Batch<IndexTable>,
  ): Buffer | null {
    const pages = failurePages(this.#index, { ...(from && { from }), limit: pagesPerStep });
    for (const { key, page } of pages) {
      if (readUs(key) > upToUs) return null;
      const left: Buffer[] = [];
      for (let at = 0; at < page.length; at += failureRecordBytes) {
        const place = readFailurePlace(page, at);
        if (place.atUs > upToUs || entryOf(place)) left.push(page.subarray(at, at + failureRecordBytes));
        else gone(readFailureRecord(page, at));
      }
      if (left.length * failureRecordBytes === page.length) continue;
      if (left.length === 0) batch.remove('failed_jobs', key);
      else batch.put('failed_jobs', key, Buffer.concat(left));
      this.#last = null;
    }
    return pages.length < pagesPerStep ? null : keyAfter(pages.at(-1)!.key);
  }
}
