// Writes the table of failed jobs: appends records to its last page, and removes the records of pruned jobs.
import type { Batch, IndexTable, Reader } from '../../runtime/store/store.ts';
import type { JournalPosition } from '../job/records/journal.ts';
import {
  type FailureRecord,
  failurePageKey,
  failurePageRecords,
  failurePages,
  failureRecordBytes,
  newestFailurePages,
  pageStartUs,
  readFailurePlace,
  readFailureRecord,
  writeFailureRecord,
} from './records/failures.ts';

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
      this.#last = { key: failurePageKey(at), bytes: Buffer.alloc(pageBytes), length: 0, isChanged: true };
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
    for (const { key, page } of newestFailurePages(this.#index, null, 1)) {
      const bytes = Buffer.alloc(pageBytes);
      page.copy(bytes);
      return { key, bytes, length: page.length, isChanged: false };
    }
    return null;
  }

  /** All records, oldest first. */
  *records(): Iterable<FailureRecord> {
    for (let from: Buffer | null = null; ; ) {
      const pages = failurePages(this.#index, from, pagesPerStep);
      for (const { page } of pages)
        for (let at = 0; at < page.length; at += failureRecordBytes) yield readFailureRecord(page, at);
      if (pages.length < pagesPerStep) return;
      from = behind(pages.at(-1)!.key);
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
    isStored: (place: JournalPosition) => boolean,
    gone: (record: FailureRecord) => void,
    batch: Batch<IndexTable>,
  ): Buffer | null {
    const pages = failurePages(this.#index, from, pagesPerStep);
    for (const found of pages) {
      if (pageStartUs(found) > upToUs) return null;
      const { key, page } = found;
      const left: Buffer[] = [];
      for (let at = 0; at < page.length; at += failureRecordBytes) {
        const place = readFailurePlace(page, at);
        if (place.atUs > upToUs || isStored(place)) left.push(page.subarray(at, at + failureRecordBytes));
        else gone(readFailureRecord(page, at));
      }
      if (left.length * failureRecordBytes === page.length) continue;
      if (left.length === 0) batch.remove('failed_jobs', key);
      else batch.put('failed_jobs', key, Buffer.concat(left));
      this.#last = null;
    }
    return pages.length < pagesPerStep ? null : behind(pages.at(-1)!.key);
  }
}

/** The smallest key above `key`. */
function behind(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}
