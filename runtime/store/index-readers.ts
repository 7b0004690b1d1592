// Readers of the search index, for a thread that searches: the indexer may put a new index in the place of the one they read.
import { statSync } from 'node:fs';
import { indexFile, openIndexReader } from './lmdb.ts';
import { type IndexTable, IndexUnavailable, type Reader } from './store.ts';

export class IndexReaders {
  readonly #path: string;
  /** By the identity of the file. A read under way goes on with the one it began with. */
  readonly #readers = new Map<string, Reader<IndexTable>>();

  /** `path`: the directory of the state. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Of the index as it is now, for one read. Throws IndexUnavailable where there is none that can be opened. */
  current(): Reader<IndexTable> {
    try {
      const identity = this.#identity();
      const known = this.#readers.get(identity);
      if (known) return known;
      const reader = openIndexReader(this.#path);
      this.#readers.set(identity, reader);
      return reader;
    } catch (error) {
      throw new IndexUnavailable('the search index cannot be opened now', { cause: error });
    }
  }

  /** Closes those of files that are no index any more. Only while no read is under way. */
  closeGone(): void {
    if (this.#readers.size === 0) return;
    let identity: string | null = null;
    try {
      identity = this.#identity();
    } catch {
      // There is none: nobody needs any of them.
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

  /** They see what has been committed up to now. */
  refresh(): void {
    for (const reader of this.#readers.values()) reader.refresh();
  }
}
