// The interface of durable storage: commit a batch, read by key, scan a range. Also names all tables, with their keys and values.

/** The tables of the ledger. Keys and values are bytes; keys sort bytewise. */
export const tables = [
  'meta', // name -> a single fact: the state format, the newest turn, the store id, the progress of pruning, an abandoned vault
  'blocks', // block key (12) -> a block of jobs, written once, when they are accepted
  'open', // block key (12) -> which jobs of the block are unsettled, and which were dispatched; removed with the last unsettled job
  'retries', // job id (16) -> the running or next attempt of an unsettled job; most first attempts have no record (records/retry.ts)
  'timers', // time (8) + kind (1) + block key (12) + first job (4) -> how many jobs may be due, expire or time out at that time (records/timer.ts)
  'rescheduled', // job id (16) -> the time at which the job runs instead of its original time; pruned with the job
  'cancels', // kind (1) + job id (16) -> what stopped the job, when and why. Kind 0: in force; 1: over; 2: detached (records/cancel.ts)
  'holds', // reason + plugin + command, separated by NUL -> since when jobs are held for the reason; removed when no job is held
  'pauses', // kind + name + command of a target, separated by NUL -> the target's pause (records/pause.ts); removed when the pause ends
  'hold_ends', // time in µs (8) + plugin + command, separated by NUL -> empty: a hold, such as a pause, ended at that time (records/hold-ends.ts)
  'schedules', // id of a schedule -> its state, such as the time up to which occurrences are past, the last job and the latest firings
  'fired', // id of a schedule, NUL, time in ms (8) -> consecutive occurrences that fired, from that time on (actors/schedule/records/fired.ts)
  'actions', // id of an open action (16) -> its plan and its progress; removed when the action ends
  'attempts', // job id (16) + attempt (2) -> how the attempt ended, with its log; or a page of neighbouring attempts
  'bodies', // job id (16) + attempt (2) -> the output of the attempt, if it is large; otherwise `attempts` has it
  'journal', // commit time in µs (8) -> the attempts that ended in that commit, in order
  'names', // kind (1) + number (4) -> a plugin and command, or a submitter; other tables store the number
  'by_command', // number of plugin and command (4) + key of a block of the command (12) -> empty
  'unsuccessful', // number of plugin and command (4) + status (1) + id of a job of the command that did not succeed (16) -> empty
  // The value says how the two jobs of the key are related. Empty: the second job is a rerun of the first. 1: it is a rerun that reuses
  // jobs of the first. 2: it is a rerun of another job, but its payload refers to values of the first in `arrivals`.
  'reruns', // job id (16) + job id (16) -> empty, 1 or 2 (records/reruns.ts)
  'tagged', // block key (12) -> how many jobs of the block have tags; absent if none has
  'tree', // root job id (16) + block key (12) -> which jobs of the block descend from the root
  'runs', // run id (16) -> an unfinished pipeline run; + scope (4) -> another scope of the run
  'run_deadlines', // time in µs (8) + run id (16) + kind (1) -> empty: the open run, or its phase, is stopped at that time
  'accepted_runs', // key of a block of runs that have not begun (12) -> their number, and the hash of their definition
  // A record to which a value in parts refers stays as long as the run's job (runtime/parted.ts).
  'arrivals', // run id (16) + scope (4) + segment (4) + sequence (4) -> results that reached the end of the segment, or a part of a payload
  'lists', // run id (16) + fan-out (4) -> a fan-out that is still being expanded, or a parked token
  'emissions', // job id (16) + kind (1) -> origin of events, or of a hook, that will start runs; + 0 -> the cursor (records/deferred-event.ts)
  'descendants', // root job id (16) -> the number of the root's descendants; only of large trees with open runs or emissions
  'open_trees', // root job id (16) -> the number of open runs and emissions in the tree, if it is more than one (actors/pipeline/descendants.ts)
  'definitions', // hash -> a pipeline definition that stored runs may have used (actors/pipeline/definition/definition-versions.ts)
  'unused_definitions', // hash of a definition that neither the configuration nor an open run uses -> since when
  'reused', // root job id (16) + block key (12) -> which jobs of the block were reused by runs of the root's tree; absent if none was
  'reuse_index', // root job id (16) -> the roots of trees that this tree needs; + fork (16) + ordinal (4) -> jobs that its runs can reuse
  'reuse_needs', // root job id (16) + id of an open root whose runs can reuse jobs of the first root's tree (16) -> empty
  'lost_jobs', // run id (16) -> a job that was pruned before the run, although the run created or reused it
  'dropped_events', // job id (16) + place among the job's events (4) -> empty: the event was dropped because of its dedupe_key
  'run_counts', // hash of a definition -> totals of its open runs: runs, records, settled jobs, bytes (records/run-counts.ts)
  'states', // plugin instance -> its state
  'counters', // plugin + command, separated by NUL -> counts of the command's jobs, such as accepted, running and failed (records/counts.ts)
  'minutes', // minute in µs (8) -> how many jobs settled in this minute with each status
  'idempotency', // hash of API token and key, or of endpoint and delivery (16) -> until when it is remembered, its request's hash, its jobs
  'idempotency_ends', // written by earlier versions; this version only removes the records
  'dedupe', // hash of target (pipeline, step) and dedupe key -> until when it is remembered, the event that used it (events/dedupe.ts)
  'vault', // `keyring` -> the vault's keys, encrypted; `contents` -> the current version of each principal and secret, encrypted
  'vault_principals', // name -> a principal, encrypted
  'vault_secrets', // name -> a secret, encrypted
  'vault_audit', // sequence (8) -> a record of the audit trail, with its code
] as const;
export type Table = (typeof tables)[number];

/** The tables of the index, a separate environment that can be rebuilt from the ledger at any time. */
export const indexTables = [
  'positions', // consumer of the journal or of `tagged` -> the position from which it continues; `format` -> the format of the index
  'logs', // page (4) -> the journal entries of the page's logs, with time and place; only of logs that may have text to search
  'postings', // chunk (4) + word -> which logs of the chunk have the word
  'pruned', // chunk (4) -> which logs of the chunk were pruned
  'tags', // hash of a tag (16) + block key (12) -> which jobs of the block have the tag
  'tagged_blocks', // block key (12) -> the hashes of the tags that its jobs have (16 each)
  'failures', // fingerprint (8) -> a group of failed jobs: its count, first and last time, last job, and counts by hour
  'failed_jobs', // time (8) + place in the commit (4) -> the times, places and fingerprints of up to 1,024 failed jobs from this one on
  'stopwatch', // minute (4) + plugin -> histograms of how long the plugin's commands and pipeline steps took (records/stopwatch.ts)
  'totals', // kind (1) + two names, separated by NUL -> histograms of durations since the index began (actors/index/records/totals.ts)
] as const;
export type IndexTable = (typeof indexTables)[number];

export type Key = Uint8Array;
export type Value = Uint8Array;

/** A half-open range of keys: `from` inclusive, `to` exclusive. In reverse, a scan goes from `to` down. */
export type Range = { readonly from?: Key; readonly to?: Key; readonly reverse?: boolean; readonly limit?: number };

/** Reads a store, on any thread. A scan must be finished before the event loop continues, because an open scan pins old pages. */
export interface Reader<T extends string = Table> {
  /** The value under the key, as bytes that stay valid; undefined if there is none. */
  get(table: T, key: Key): Uint8Array | undefined;
  /** Like `get`, but does not copy the value, so its bytes are valid only until the next read. */
  peek(table: T, key: Key): Uint8Array | undefined;
  scan(table: T, range: Range): Iterable<{ readonly key: Uint8Array; readonly value: Uint8Array }>;
  /** Only the keys; no value is copied. */
  keys(table: T, range: Range): Iterable<Key>;
  count(table: T): number;
  /** Makes all commits so far visible to this reader. Must be called at the start of a read that needs the latest commits. */
  refresh(): void;
  close(): void;
}

/**
 * The writes of one turn, in order. **No read shows them before their commit**: neither `get`, `peek`, `scan`, `keys` nor
 * `count`, on any thread, including the one that writes. Code that needs its own writes within the turn keeps these in memory.
 * Keys and values are read only at the commit, so they must not be changed before the commit.
 */
export interface Batch<T extends string = Table> {
  put(table: T, key: Key, value: Value): void;
  remove(table: T, key: Key): void;
  readonly size: number;
}

/**
 * Reads and writes a store. Only one thread at a time may write a store: in the service, the ledger thread writes the ledger, and
 * the indexer thread the index. All implementations behave alike (test/unit/runtime/store.test.ts).
 */
export interface Store<T extends string = Table> extends Reader<T> {
  batch(): Batch<T>;
  /**
   * Writes the whole batch or none of it. After it has returned, the batch is durable, and reads of this store show it. Throws StoreFull if
   * there is no room, and StoreFault if the disk fails.
   */
  commit(batch: Batch<T>): void;
}

/** Thrown if there is no room for a commit. No part of the batch was written. */
export class StoreFull extends Error {
  readonly code = 'store_full';
}

/**
 * Thrown if the store cannot be used: for example, the disk has failed, or the store is damaged or has an unreadable format. If a commit
 * throws it, the batch may have been written, and the store refuses all further commits.
 */
export class StoreFault extends Error {
  readonly code = 'store_fault';
}

/** Thrown if there is no index, or it cannot be opened at the moment. */
export class IndexUnavailable extends Error {
  readonly code = 'index_unavailable';
}
