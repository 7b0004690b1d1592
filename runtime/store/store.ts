// The narrow door to durable storage: commit a batch, read by key, scan a range. Nothing above it knows LMDB.

/** The tables of the ledger. Keys and values are bytes; keys sort bytewise. */
export const tables = [
  'meta', // names of single facts: format, owner, how far pruning has come
  'blocks', // block key (12) -> block of jobs, written once when they are accepted
  'open', // block key (12) -> which jobs of the block are unsettled; gone when none is
  'retries', // job id (16) -> the next attempt of a job that waits for it, or runs it
  'attempts', // job id (16) + attempt (2) -> how that attempt ended, or those of the jobs from it on: the job logs
  'bodies', // job id (16) + attempt (2) -> what that attempt left behind, where it is large; else it lies with how it ended
  'journal', // commit time in µs (8) -> the attempts that ended in that commit, in order
  'names', // kind (1) + number (4) -> a plugin and command, or a submitter, for short entries elsewhere
  'by_command', // number of plugin and command (4) + block key (12) -> nothing
  'unsuccessful', // number of plugin and command (4) + status (1) + job id (16) -> nothing
  'tree', // root job id (16) + block key (12) -> which jobs of the block belong to the root
  'runs', // run id (16) -> an unfinished pipeline run; + scope (4) -> an inner scope of it
  'arrivals', // run id (16) + scope (4) + which join of it (4) + sequence (4) -> what came to that join
  'lists', // run id (16) + fork (4) -> elements of a fan-out that is still being expanded
  'emissions', // job id (16), to start runs or to go on (1) (+ 1) -> where the events in its record go that have not been taken yet, and the cursor in them
  'definitions', // hash -> a pipeline definition that an unfinished run began with
  'states', // plugin instance -> its state
  'counters', // plugin, command -> how many jobs were accepted, and settled by status
  'minutes', // minute in µs (8) -> how many jobs settled in it, by status
  'idempotency', // hash of token and key (16) -> until when, which request, which job
  'idempotency_ends', // until when in µs (8) + hash of token and key (16) -> nothing
  'dedupe', // hash of target and key -> until when a second event starts nothing
  'vault', // keyring, contents -> the vault's keys, and which version of each record is the current one
  'vault_principals', // name -> a principal, sealed
  'vault_secrets', // name -> a secret, sealed
  'vault_audit', // sequence (8) -> a record of the audit trail, with its code
] as const;
export type Table = (typeof tables)[number];

/** The tables of the index: an environment of its own, which can be made again from the ledger at any time. */
export const indexTables = [
  'positions', // consumer -> the commit of the journal up to which it has taken the entries
  'logs', // page (4) -> a record for each log of it; only logs that have something to search
  'postings', // chunk (4) + word -> which logs of the chunk have the word
  'pruned', // chunk (4) -> which logs of the chunk are gone
  'stopwatch', // minute (4) + plugin -> how long its steps took, as histograms
] as const;
export type IndexTable = (typeof indexTables)[number];

export type Key = Uint8Array;
export type Value = Uint8Array;

/** A half-open range of keys: `from` inclusive, `to` exclusive. In reverse, it is walked from `to` down. */
export type Range = { readonly from?: Key; readonly to?: Key; readonly reverse?: boolean; readonly limit?: number };

/** What any thread may do. A scan must be used up before the caller gives up its turn: it pins old pages. */
export interface Reader<T extends string = Table> {
  /** The value, as bytes that stay valid, or undefined. */
  get(table: T, key: Key): Uint8Array | undefined;
  scan(table: T, range: Range): Iterable<{ readonly key: Uint8Array; readonly value: Uint8Array }>;
  count(table: T): number;
  /** Sees what has been committed up to now: call once at the start of a read that must be fresh. */
  refresh(): void;
  close(): void;
}

/** The writes of one turn, in order. */
export interface Batch<T extends string = Table> {
  put(table: T, key: Key, value: Value): void;
  remove(table: T, key: Key): void;
  readonly size: number;
}

/** What one thread alone may do: of the ledger the ledger thread, of the index the indexer. */
export interface Store<T extends string = Table> extends Reader<T> {
  batch(): Batch<T>;
  /** Durable when it returns. Throws StoreFull when there is no room, StoreFault when the disk fails. */
  commit(batch: Batch<T>): void;
}

/** There is no room for this commit; nothing of it was written. */
export class StoreFull extends Error {
  readonly code = 'store_full';
}

/** The disk failed; what of the commit was written is unknown until the store is opened anew. */
export class StoreFault extends Error {
  readonly code = 'store_fault';
}
