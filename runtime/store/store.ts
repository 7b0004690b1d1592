// The interface of durable storage: commit a batch, read by key, scan a range. Only its implementation knows LMDB.

/** The tables of the ledger. Keys and values are bytes; keys sort bytewise. */
export const tables = [
  'meta', // name -> a single fact: the state format, the owner, the progress of pruning, the abandoned vault
  'blocks', // block key (12) -> a block of jobs, written once, when they are accepted
  'open', // block key (12) -> which jobs of the block are unsettled; removed with the last of them
  'retries', // job id (16) -> the next or running attempt of a job that was retried or is a suspect (records/retry.ts)
  'cancels', // 0 + id of an unsettled job (16) -> who cancelled it; 1 + id of an ended job (16) -> the same, pruned with the job
  'holds', // reason + plugin + command, separated by NUL -> since when their queued jobs are held; removed when none is held
  'pauses', // kind + name + command, separated by NUL -> a pause: by whom, since when, until when; removed when it ends
  'hold_ends', // time in µs (8) + plugin + command, separated by NUL -> nothing: a pause or hold of these jobs ended at that time
  'actions', // job id (16) -> an open action over many jobs: its plan and its progress; removed when it ends
  'attempts', // job id (16) + attempt (2) -> how the attempt ended, or a page of neighbouring attempts: the job logs
  'bodies', // job id (16) + attempt (2) -> the output of the attempt, if it is large; otherwise `attempts` has it
  'journal', // commit time in µs (8) -> the attempts that ended in that commit, in order
  'names', // kind (1) + number (4) -> a plugin and command, or a submitter; other tables store the number
  'by_command', // number of plugin and command (4) + block key (12) -> nothing
  'unsuccessful', // number of plugin and command (4) + status (1) + job id (16) -> nothing
  'reruns', // job id (16) + id of its rerun (16) -> nothing; 1: it reuses the jobs that succeeded; 2: it is no rerun, but names parts of the run
  'tree', // root job id (16) + block key (12) -> which jobs of the block belong to the root
  'runs', // run id (16) -> an unfinished pipeline run; + scope (4) -> an inner scope of it
  'accepted_runs', // block key (12) -> the number of runs in the block, which were accepted in a batch and have not begun, and the hash of their definition
  'arrivals', // run id (16) + scope (4) + join of the scope (4) + sequence (4) -> results that reached the join; large ones stay as long as the run's job, because values in parts refer to them (runtime/parted.ts)
  'lists', // run id (16) + fork (4) -> a fan-out that is still being expanded, or a parked token
  'emissions', // job id (16), 0 (+ 0) -> the job's events that have not started runs yet, and the cursor in them
  'descendants', // root job id (16) -> the number of its descendants; only for large trees with open runs (actors/pipeline/descendants.ts)
  'open_trees', // root job id (16) -> the number of open runs and waiting emissions below it, if there is more than one (actors/pipeline/descendants.ts)
  'definitions', // hash -> the pipeline definition of stored runs (actors/pipeline/definition-versions.ts)
  'unused_definitions', // hash of a definition that neither the configuration nor an open run uses -> since when
  'reused', // root job id (16) + block key (12) -> the jobs of the block that runs of the root's tree reused; absent if there are none
  'reuse_index', // root job id (16) + fork (16) + ordinal (4) -> jobs that a run of the root's tree can reuse; removed after the root's end
  'reuse_needs', // root job id (16) + id of an open root that can reuse jobs of its tree (16) -> nothing
  'lost_jobs', // run id (16) -> a job that the run created or reused, and that was pruned before the run
  'dropped_events', // job id (16) + place among its events (4) -> nothing: the event was dropped because of its dedupe_key
  'run_counts', // hash of a definition -> totals of its open runs: runs, records, settled jobs, bytes (actors/pipeline/definition-versions.ts)
  'states', // plugin instance -> its state
  'counters', // plugin, command -> how many jobs were accepted, and settled by status
  'minutes', // minute in µs (8) -> how many jobs settled in it, by status
  'idempotency', // hash of token and key (16) -> until when it is remembered, the request, the job
  'idempotency_ends', // written by earlier versions
  'dedupe', // hash of target and key -> until when another event with the key starts nothing
  'vault', // `keyring` -> the vault's keys, encrypted; `contents` -> the current version of each record
  'vault_principals', // name -> a principal, sealed
  'vault_secrets', // name -> a secret, sealed
  'vault_audit', // sequence (8) -> a record of the audit trail, with its code
] as const;
export type Table = (typeof tables)[number];

/** The tables of the index, a separate environment that can be rebuilt from the ledger at any time. */
export const indexTables = [
  'positions', // consumer -> the commit of the journal up to which it has handled the entries
  'logs', // page (4) -> records of logs that contain searchable text
  'postings', // chunk (4) + word -> which logs of the chunk have the word
  'pruned', // chunk (4) -> which logs of the chunk were pruned
  'stopwatch', // minute (4) + plugin -> histograms of how long its steps took
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
