// The narrow door to durable storage: commit a batch, read by key, scan a range. Nothing above it knows LMDB.

/** The tables of the ledger. Keys and values are bytes; keys sort bytewise. */
export const tables = [
  'meta', // names of single facts: format, owner
  'blocks', // block key (12) -> block of jobs, written once when they are accepted
  'open', // block key (12) -> which jobs of the block are unsettled; gone when none is
  'retries', // job id (16) -> the next attempt of a job that waits for it, or runs it
  'attempts', // job id (16) + attempt (2) -> how that attempt ended: the job log
  'journal', // commit time in µs (8) -> what settled in that commit, in order
  'tree', // root job id (16) + block key (12) -> which jobs of the block belong to the root
  'runs', // run id (16) -> an unfinished pipeline run
  'arrivals', // run id (16) + scope (4) + sequence (8) -> what came to a join
  'lists', // run id (16) + fork (4) -> elements of a fan-out that is still being expanded
  'definitions', // hash -> a pipeline definition that an unfinished run began with
  'states', // plugin instance -> its state
  'counters', // plugin, command -> how many jobs were accepted, and settled by status
  'minutes', // minute in µs (8) -> how many jobs settled in it, by status
  'dedupe', // hash of target and key -> until when a second event starts nothing
] as const;
export type Table = (typeof tables)[number];

export type Key = Uint8Array;
export type Value = Uint8Array;

/** A half-open range of keys: `from` inclusive, `to` exclusive. In reverse, it is walked from `to` down. */
export type Range = { readonly from?: Key; readonly to?: Key; readonly reverse?: boolean; readonly limit?: number };

/** What any thread may do. A scan must be used up before the caller gives up its turn: it pins old pages. */
export interface Reader {
  /** The value, as bytes that stay valid, or undefined. */
  get(table: Table, key: Key): Uint8Array | undefined;
  scan(table: Table, range: Range): Iterable<{ readonly key: Uint8Array; readonly value: Uint8Array }>;
  count(table: Table): number;
  /** Sees what has been committed up to now: call once at the start of a read that must be fresh. */
  refresh(): void;
  close(): void;
}

/** The writes of one turn, in order. */
export interface Batch {
  put(table: Table, key: Key, value: Value): void;
  remove(table: Table, key: Key): void;
  readonly size: number;
}

/** What the ledger thread alone may do. */
export interface Store extends Reader {
  batch(): Batch;
  /** Durable when it returns. Throws StoreFull when there is no room, StoreFault when the disk fails. */
  commit(batch: Batch): void;
}

/** There is no room for this commit; nothing of it was written. */
export class StoreFull extends Error {
  readonly code = 'store_full';
}

/** The disk failed; what of the commit was written is unknown until the store is opened anew. */
export class StoreFault extends Error {
  readonly code = 'store_fault';
}
