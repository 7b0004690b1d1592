// The readers of the index in a thread that only reads the index. The indexer may replace the index during a read.
import { statSync } from 'node:fs';
import { indexFile, indexPath } from './index-store.ts';
import { openChecked, readerOf } from './lmdb.ts';
import { type IndexTable, IndexUnavailable, indexTables, type Reader } from './store.ts';

export class IndexReaders {
  readonly #path: string;
  /**
   * Readers by the identity of their file. A read uses the same file to its end, even if the indexer replaces the index meanwhile.
   */
  readonly #readers = new Map<string, Reader<IndexTable>>();

  /** `path`: the state directory. */
  constructor(path: string) {
    this.#path = path;
  }

  /** The reader of the current index, to be used for one read. Throws IndexUnavailable if the index cannot be opened. */
  current(): Reader<IndexTable> {
    try {
      const identity = this.#identity();
      const known = this.#readers.get(identity);
      if (known) return known;
      // The indexer of this process must have opened the index before.
      const reader = readerOf(openChecked(indexPath(this.#path), indexTables));
      this.#readers.set(identity, reader);
      return reader;
    } catch (error) {
      throw new IndexUnavailable('the search index cannot be opened', { cause: error });
    }
  }

  /** Closes the readers of files that have been replaced. Must not be called during a read. */
  closeGone(): void {
    if (this.#readers.size === 0) return;
    let identity: string | null = null;
    try {
      identity = this.#identity();
    } catch {
      // There is no index, so no reader is needed.
    }
    for (const [known, reader] of this.#readers) {
      if (known === identity) continue;
      this.#readers.delete(known);
      reader.close();
    }
  }

  #identity(): string {
    const { dev, ino } = statSync(indexFile(this.#path));
    return `${dev}:${ino}`;
  }

  /** Makes all commits so far visible to the readers. */
  refresh(): void {
    for (const reader of this.#readers.values()) reader.refresh();
  }
}
