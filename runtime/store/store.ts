// The interface of durable storage: commit a batch, read by key, scan a range. Only its implementation knows LMDB.

/** The tables of the ledger. Keys and values are bytes; keys sort bytewise. */
export const tables = [
  'meta', // names of single facts: format, owner, how far pruning has come, the vault that was abandoned
  'blocks', // block key (12) -> block of jobs, written once when they are accepted
  'open', // block key (12) -> which jobs of the block are unsettled; gone when none is
  'retries', // job id (16) -> the next attempt of a job that waits for it, or runs it
  'cancels', // 0 + job id (16) -> who cancelled the job, which has not ended; 1 + job id (16) -> the same of a job that has, pruned with it; absent until used
  'holds', // reason + plugin + command, NUL between them -> since when its queued jobs are held; gone when none is held
  'pauses', // kind + name + command, NUL between them -> a pause: by whom, since when, until when; gone when it is resumed
  'hold_ends', // time in µs (8) + plugin + command, NUL between them -> a pause or hold of these jobs ended then; absent until used
  'actions', // job id (16) -> an open action over many jobs: its plan and its progress; removed when it ends
  'attempts', // job id (16) + attempt (2) -> how that attempt ended, or those of the jobs from it on: the job logs
  'bodies', // job id (16) + attempt (2) -> what that attempt left behind, where it is large; else it lies with how it ended
  'journal', // commit time in µs (8) -> the attempts that ended in that commit, in order
  'names', // kind (1) + number (4) -> a plugin and command, or a submitter, for short entries elsewhere
  'by_command', // number of plugin and command (4) + block key (12) -> nothing
  'unsuccessful', // number of plugin and command (4) + status (1) + job id (16) -> nothing
  'reruns', // job id (16) + id of its rerun (16) -> nothing; 1: the rerun reuses the jobs that succeeded
  'tree', // root job id (16) + block key (12) -> which jobs of the block belong to the root
  'runs', // run id (16) -> an unfinished pipeline run; + scope (4) -> an inner scope of it
  'arrivals', // run id (16) + scope (4) + which join of it (4) + sequence (4) -> what came to that join; a large one stays as long as the run's job: values in parts name it (runtime/parted.ts)
  'lists', // run id (16) + fork (4) -> elements of a fan-out that is still being expanded, or a chain that waits for a turn
  'emissions', // job id (16), 0 (+ 0) -> where the events in its record come from that are still to start runs, and the cursor in them
  'descendants', // root job id (16) -> how many descendants it has; only of large trees with open runs (actors/pipeline/descendants.ts)
  'open_trees', // root job id (16) -> how many open runs and waiting emissions it has below it; only where more than one (descendants.ts)
  'definitions', // hash -> the pipeline definition of stored runs (actors/pipeline/definition-versions.ts)
  'unused_definitions', // hash of a definition that neither the configuration nor an open run uses -> since when
  'reused', // root job id (16) + block key (12) -> the jobs of the block that runs of the root's tree reused; absent if there are none
  'reuse_index', // root job id (16) + fork (16) + ordinal (4) -> jobs that a run of the root's tree can reuse; removed after the root's end
  'reuse_needs', // root job id (16) + id of an open root that can reuse jobs of its tree (16) -> nothing
  'lost_jobs', // run id (16) -> a job that the run made or reused and that was pruned before it; absent if there is none
  'dropped_events', // job id (16) + place among its events (4) -> nothing: the event was dropped in its run because of its dedupe_key
  'run_counts', // hash of a definition -> how many runs with it are open, their records, settled jobs and bytes (actors/pipeline/definition-versions.ts)
  'states', // plugin instance -> its state
  'counters', // plugin, command -> how many jobs were accepted, and settled by status
  'minutes', // minute in µs (8) -> how many jobs settled in it, by status
  'idempotency', // hash of token and key (16) -> until when, which request, which job
  'idempotency_ends', // written by earlier versions
  'dedupe', // hash of target and key -> until when a second event starts nothing
  'vault', // keyring, contents -> the vault's keys, and which version of each record is the current one
  'vault_principals', // name -> a principal, sealed
  'vault_secrets', // name -> a secret, sealed
  'vault_audit', // sequence (8) -> a record of the audit trail, with its code
] as const;
export type Table = (typeof tables)[number];

/** The tables of the index, a separate environment that can be rebuilt from the ledger at any time. */
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

/** What any thread may do. Finish a scan before yielding to the event loop: an open scan pins old pages. */
export interface Reader<T extends string = Table> {
  /** The value, as bytes that stay valid; undefined: there is none. */
  get(table: T, key: Key): Uint8Array | undefined;
  /** Like `get`, but the bytes are valid only until the next read, so that large values are not copied. */
  peek(table: T, key: Key): Uint8Array | undefined;
  scan(table: T, range: Range): Iterable<{ readonly key: Uint8Array; readonly value: Uint8Array }>;
  /** Only the keys; no value is copied. */
  keys(table: T, range: Range): Iterable<Key>;
  count(table: T): number;
  /** Makes all commits so far visible. Must be called at the start of a read that needs them. */
  refresh(): void;
  close(): void;
}

/**
 * The writes of one turn, in order. **No read shows them before their commit**: neither `get`, `scan`, `keys` nor `count`, on any
 * thread, the one that writes included. Code that needs its own writes within the turn keeps them in memory.
 * Keys and values are read at the commit: they stay unchanged until then.
 */
export interface Batch<T extends string = Table> {
  put(table: T, key: Key, value: Value): void;
  remove(table: T, key: Key): void;
  readonly size: number;
}

/**
 * What only one thread may do: the ledger thread for the ledger, the indexer for the index. All implementations behave alike
 * (test/unit/runtime/store.test.ts).
 */
export interface Store<T extends string = Table> extends Reader<T> {
  batch(): Batch<T>;
  /**
   * Durable when it returns; reads of this store then show it. Writes all of the batch or nothing. Throws StoreFull if there is no
   * room, StoreFault if the disk fails.
   */
  commit(batch: Batch<T>): void;
}

/** There is no room for this commit, none of which was written. */
export class StoreFull extends Error {
  readonly code = 'store_full';
}

/**
 * The disk failed. How much of the commit was written is unknown until the store is opened again; until then it refuses every commit.
 */
export class StoreFault extends Error {
  readonly code = 'store_fault';
}

/** There is no index, or it cannot be opened at the moment. */
export class IndexUnavailable extends Error {
  readonly code = 'index_unavailable';
}
