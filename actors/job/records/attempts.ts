// The table of attempts. If neighbouring jobs of a block end with their first attempts in the same commit, these attempts can
// share a value, called a page.
//
//   key: id of the first job (16) | attempt (2)      value: count (2) | where each record ends (4 each) | records
//
// Any other attempt is a page of its own. So a scan finds all attempts of a job next to each other, in order. The body of a large
// attempt is stored apart, in the table of bodies under the same key, so lists of jobs need not read it.
import { copyBytes } from '../../../runtime/bytes.ts';
import type { Body } from '../../../runtime/host/wire/outcome.ts';
import { type BlockKey, blockKeyBytes, blockOf, indexOf, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { type Attempt, attemptBytes, headBytes, isApart, StoredAttempt, writeApart, writeAttempt } from './attempt.ts';

/**
 * The maximum number of attempts in a page. A page ends before each job whose index in the block is a multiple of this number, so most
 * attempts are found by key, without a search. Larger pages would be written slightly faster, but reading one attempt would be slower.
 */
export const pageAttemptsMax = 32;
/** A page with this many bytes of records is full. The body of an attempt whose record would be larger is stored apart. */
export const pageBytesMax = 16 * 2 ** 10;
/** Greater than every attempt number. */
const numbersEnd = 0xffff;

/** How an attempt of a job ended, and its number. */
export type NumberedAttempt = { readonly number: number; readonly attempt: StoredAttempt };

export function attemptKey(id: Uint8Array, attempt: number): Buffer {
  const key = Buffer.allocUnsafe(jobIdBytes + 2);
  copyBytes(key, 0, id);
  key.writeUInt16BE(attempt, jobIdBytes);
  return key;
}

/** Collects the attempts of one commit into pages. */
export class AttemptWriter {
  /** The key of the page that is being filled. Null: no page is being filled. */
  #key: Buffer | null = null;
  #canGrow = false;
  #nextIndex = 0;
  readonly #records = Buffer.allocUnsafe(2 * pageBytesMax);
  #ends: number[] = [];

  add(batch: Batch, id: JobId, number: number, attempt: Attempt): void {
    const bytes = attemptBytes(attempt);
    if (bytes > pageBytesMax) {
      this.close(batch);
      const key = attemptKey(id, number);
      batch.put('attempts', key, encodeApart(attempt));
      batch.put('bodies', key, attempt.body);
      return;
    }
    if (!this.#continues(id, number, attempt)) {
      this.close(batch);
      this.#key = attemptKey(id, number);
      this.#canGrow = number === 1 && attempt.final;
      this.#nextIndex = indexOf(id);
    }
    const start = this.#ends.at(-1) ?? 0;
    writeAttempt(this.#records, start, attempt);
    this.#ends.push(start + bytes);
    this.#nextIndex++;
  }

  /** Writes the page that is being filled. */
  close(batch: Batch): void {
    if (this.#key === null) return;
    batch.put('attempts', this.#key, encodePage(this.#records, this.#ends));
    this.#key = null;
    this.#ends = [];
  }

  #continues(id: JobId, number: number, { final }: Attempt): boolean {
    if (!this.#canGrow || this.#key === null || number !== 1 || !final || indexOf(id) !== this.#nextIndex) return false;
    if (this.#nextIndex % pageAttemptsMax === 0 || this.#ends.at(-1)! >= pageBytesMax) return false;
    for (let i = 0; i < blockKeyBytes; i++) if (id[i] !== this.#key[i]) return false;
    return true;
  }
}

function encodePage(records: Buffer, ends: readonly number[]): Buffer {
  const headBytes = 2 + 4 * ends.length;
  const value = Buffer.allocUnsafe(headBytes + ends.at(-1)!);
  value.writeUInt16LE(ends.length, 0);
  for (let place = 0; place < ends.length; place++) value.writeUInt32LE(ends[place]!, 2 + 4 * place);
  records.copy(value, headBytes, 0, ends.at(-1)!);
  return value;
}

/** A page of one attempt whose body is stored apart. */
function encodeApart(attempt: Attempt): Buffer {
  const recordAt = 6;
  const value = Buffer.allocUnsafe(recordAt + headBytes);
  value.writeUInt16LE(1, 0);
  value.writeUInt32LE(headBytes, 2);
  writeApart(value, recordAt, attempt);
  return value;
}

/** A page that was read. Attempts are decoded on demand. The constructor throws a RangeError if the value has no room for a count. */
export class AttemptPage {
  readonly key: Uint8Array;
  /** The number that all attempts of the page have. */
  readonly number: number;
  /** The index, in the block, of the page's first job. */
  readonly first: number;
  readonly count: number;
  readonly #reader: Reader;
  readonly #value: Buffer;
  readonly #readApart = (): Body | undefined => this.#reader.get('bodies', this.key);

  constructor(reader: Reader, key: Uint8Array, value: Uint8Array) {
    this.#reader = reader;
    this.key = key;
    this.number = (key[jobIdBytes]! << 8) | key[jobIdBytes + 1]!;
    this.first = indexOf(key);
    this.#value = Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    this.count = this.#value.readUInt16LE(0);
  }

  get block(): BlockKey {
    return blockOf(this.key);
  }

  /** The attempt of the job at this index of the block. Undefined: the page does not have it. */
  attempt(index: number): StoredAttempt | undefined {
    if (!this.has(index)) return undefined;
    return new StoredAttempt(this.#reader, this.#value, this.#at(index), this.#at(index + 1), this.#readApart);
  }

  /** Whether the page has a single attempt, whose body is stored apart. */
  get isApart(): boolean {
    return isApart(this.#value, this.#at(this.first));
  }

  remove(batch: Batch): void {
    const key = Buffer.from(this.key);
    batch.remove('attempts', key);
    if (this.isApart) batch.remove('bodies', key);
  }

  has(index: number): boolean {
    return index >= this.first && index < this.first + this.count;
  }

  /** The offset at which the record of the job at this index begins, and the record of the preceding job ends. */
  #at(index: number): number {
    const place = index - this.first;
    return 2 + 4 * this.count + (place === 0 ? 0 : this.#value.readUInt32LE(2 + 4 * (place - 1)));
  }
}

/** The block's last page whose key is below `to`. */
function pageBelow(reader: Reader, key: BlockKey, to: Uint8Array): AttemptPage | undefined {
  const range = { from: attemptKey(jobId(key, 0), 0), to, reverse: true, limit: 1 };
  for (const entry of reader.scan('attempts', range)) return new AttemptPage(reader, entry.key, entry.value);
  return undefined;
}

/** The page with the job's first attempt, if the index of that page's first job is a multiple of `pageAttemptsMax`. */
function pageAt(reader: Reader, id: JobId): AttemptPage | undefined {
  const index = indexOf(id);
  const key = attemptKey(id, 1);
  key.writeUInt32BE(index - (index % pageAttemptsMax), blockKeyBytes);
  const value = reader.get('attempts', key);
  const page = value && new AttemptPage(reader, key, value);
  return page?.has(index) ? page : undefined;
}

/** The page with this attempt of a job, if there is one. */
export function pageWith(reader: Reader, id: JobId, number: number): AttemptPage | undefined {
  if (number === 1) {
    const near = pageAt(reader, id);
    if (near) return near;
  }
  const page = pageBelow(reader, blockOf(id), attemptKey(id, number + 1));
  return page?.number === number && page.attempt(indexOf(id)) ? page : undefined;
}

export function latestAttempt(reader: Reader, id: JobId): NumberedAttempt | undefined {
  // Most jobs end with their first attempt.
  const first = pageAt(reader, id)?.attempt(indexOf(id));
  if (first?.final) return { number: 1, attempt: first };
  const page = pageBelow(reader, blockOf(id), attemptKey(id, numbersEnd));
  const attempt = page?.attempt(indexOf(id));
  return attempt && { number: page!.number, attempt };
}

/** The pages with attempts of the jobs of a block from index `from` up to, not including, `to`. */
export function* pagesOf(reader: Reader, key: BlockKey, from: number, to: number): Iterable<AttemptPage> {
  const start = attemptKey(jobId(key, from), 0);
  const before = from === 0 ? undefined : pageBelow(reader, key, start);
  if (before?.attempt(from)) yield before;
  const range = { from: start, to: attemptKey(jobId(key, to), 0) };
  for (const entry of reader.scan('attempts', range)) yield new AttemptPage(reader, entry.key, entry.value);
}

/** The attempts of the jobs of a block from index `from` up to, not including, `to`: job by job, in order. */
export function* attemptsOf(
  reader: Reader,
  key: BlockKey,
  from: number,
  to: number,
): Iterable<NumberedAttempt & { readonly index: number }> {
  for (const page of pagesOf(reader, key, from, to)) {
    const { number, first, count } = page;
    const end = Math.min(to, first + count);
    for (let index = Math.max(from, first); index < end; index++) {
      yield { index, number, attempt: page.attempt(index)! };
    }
  }
}
