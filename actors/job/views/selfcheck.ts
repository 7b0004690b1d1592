// The selfcheck compares the tables of the running store with each other, in slices, while work continues (docs/contract.md#selfcheck).
//
// Commits continue between two slices, so a record that is right may look wrong. A record that looks wrong is checked again later,
// within one slice, and is reported if it still looks wrong.

import { hexOf, keyAfter } from '../../../runtime/bytes.ts';
import { blockOf, formatId, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader, Table } from '../../../runtime/store/store.ts';
import { scheduleInvariants } from '../../schedule/views/schedule-invariants.ts';
import { decodeBlock } from '../records/block.ts';
import { type CommandTotals, countsKey, emptyCounts, readCounts, retriedCount } from '../records/counts.ts';
import { isHosted } from '../records/job.ts';
import { entriesOf, isNeverStarted, readPruneMark, readUs } from '../records/journal.ts';
import { idsIn } from '../records/list-indexes.ts';
import { NameTable } from '../records/name-table.ts';
import { attemptOf, findOpen, keyText, OpenBlock } from '../records/open.ts';
import { isInFlight } from '../records/retry.ts';
import type { Invariant } from './invariant.ts';
import { invariantsOf } from './invariants.ts';

/**
 * The maximum number of records that are checked per table, in descending order of their keys. A block counts as many times as it has
 * jobs.
 */
export const checkedMax = 100_000;
/**
 * The maximum number of suspect records per invariant that the walk keeps, to check them again. Also the maximum number of jobs without a
 * worker that are reported.
 */
export const suspectsMax = 20;
const pageSize = 32;
const againMs = 100;
const againMax = 5;

export type InvariantFailure = { readonly invariant: string; readonly detail: string };
export type Findings = {
  readonly invariantsChecked: number;
  readonly failures: readonly InvariantFailure[];
  readonly detail: string;
};

/**
 * Returns the ids of those jobs among `ids` (16 bytes each) that no host has. Null: unknown, because no service runs (as in the check of a
 * backup), the service has not read all unsettled jobs yet, or its ledger thread does not answer.
 */
export type FindIdle = (ids: Uint8Array) => Promise<Uint8Array | null>;

export type SelfcheckOptions = {
  readonly reader: Reader;
  readonly askIdle: FindIdle;
  readonly pause: (ms: number) => Promise<void>;
  /** Runs the work slice by slice. Each slice sees the commits before it. */
  readonly run: <T>(work: Sliced<T>) => T | Promise<T>;
  readonly checkedMax?: number;
};

type Suspect = { readonly invariant: Invariant; readonly key: Uint8Array };

const readableName = 'records_can_be_read';
/** Tables for which the walk checks that the values can be unpacked. */
const packedTables = ['emissions', 'definitions', 'states', 'counters'] as const;
const packedRecords: readonly Invariant[] = packedTables.map(table => ({ name: readableName, table, wrong: unpacks }));
const runningName = 'running_jobs_have_workers';
const countersName = 'counters_are_right';

export async function selfcheck(options: SelfcheckOptions): Promise<Findings> {
  const { reader, pause, run } = options;
  const max = options.checkedMax ?? checkedMax;
  const invariants = [...invariantsOf(reader, new NameTable(reader)), ...scheduleInvariants(reader), ...packedRecords];
  const notes: string[] = [];
  const suspects = await run(walk(reader, invariants, max, notes));
  const failures: InvariantFailure[] = [];
  if (suspects.length > 0) await pause(againMs);
  await run(checkAgain(reader, suspects, failures));
  failures.push(...(await countersOf(options, max, notes)));
  failures.push(...(await runningOf(options, notes)));
  const names = new Set(invariants.map(({ name }) => name));
  return { invariantsChecked: names.size + 2, failures, detail: notes.join('; ') };
}

function* walk(reader: Reader, invariants: readonly Invariant[], max: number, notes: string[]): Sliced<Suspect[]> {
  const suspects: Suspect[] = [];
  const found = new Map<string, number>();
  for (const table of new Set(invariants.map(invariant => invariant.table))) {
    const asked = invariants.filter(invariant => invariant.table === table);
    const all = reader.count(table);
    let checked = 0;
    let weight = 0;
    for (const { key, value } of recordsOf(reader, table)) {
      if (weight >= max) break;
      checked++;
      weight += table === 'blocks' ? jobsIn(value) : 1;
      for (const invariant of asked) {
        const fault = faultOf(invariant, key, value);
        if (fault !== null && count(found, fault.invariant) <= suspectsMax) suspects.push({ invariant, key });
        yield;
      }
    }
    notes.push(`${table}: ${checked >= all ? `all ${checked}` : `the last ${checked} of ${all} by key`}`);
  }
  return suspects;
}

/** Throws if the value cannot be unpacked. */
function unpacks(_: Uint8Array, value: Uint8Array): null {
  unpack(value);
  return null;
}

/**
 * The records of a table with keys below `before` (absent: all records), in descending order of their keys. No scan stays open while the
 * caller pauses.
 */
function* recordsOf(reader: Reader, table: Table, before?: Uint8Array): Iterable<{ key: Buffer; value: Buffer }> {
  for (let to = before; ; ) {
    const range = { reverse: true, limit: pageSize, ...(to && { to }) };
    const page = Array.from(reader.scan(table, range), ({ key, value }) => ({
      key: Buffer.from(key),
      value: Buffer.from(value),
    }));
    yield* page;
    if (page.length < pageSize) return;
    to = page.at(-1)!.key;
  }
}

/** A key after all present keys of a table. Null: the table is empty. */
function endOf(reader: Reader, table: Table): Uint8Array | null {
  for (const { key } of recordsOf(reader, table)) return keyAfter(key);
  return null;
}

/** The fault of a record. Null: the record has no fault. A record that cannot be decoded has a fault, too. */
function faultOf({ name, table, wrong }: Invariant, key: Uint8Array, value: Uint8Array): InvariantFailure | null {
  try {
    const detail = wrong(key, value);
    return detail === null ? null : { invariant: name, detail };
  } catch (error) {
    const record = `${table} ${hexOf(key)}`;
    return { invariant: readableName, detail: `${record} cannot be read: ${(error as Error).message}` };
  }
}

function jobsIn(block: Uint8Array): number {
  return readable(() => decodeBlock(block))?.count ?? 1;
}

function* checkAgain(reader: Reader, suspects: readonly Suspect[], failures: InvariantFailure[]): Sliced<void> {
  const reported = new Set<string>();
  for (const { invariant, key } of suspects) {
    const value = reader.get(invariant.table, key);
    // A new key object, because results are cached by the identity of the key.
    const failure = value ? faultOf(invariant, Buffer.from(key), value) : null;
    // If a record cannot be decoded, each of its checks reports the same failure, which is listed once.
    const text = failure && `${failure.invariant}: ${failure.detail}`;
    if (text !== null && !reported.has(text)) failures.push(failure!);
    if (text !== null) reported.add(text);
    yield;
  }
}

function count(found: Map<string, number>, name: string): number {
  const next = (found.get(name) ?? 0) + 1;
  found.set(name, next);
  return next;
}

/**
 * Compares the counters with the numbers of jobs and attempts that are stored as of one commit. Later commits do not affect the
 * comparison, unless they prune.
 */
async function countersOf(
  { reader, run }: SelfcheckOptions,
  max: number,
  notes: string[],
): Promise<InvariantFailure[]> {
  for (let time = 0; time < againMax; time++) {
    const failures = await run(compareCounters(reader, max, notes));
    if (failures) return failures;
  }
  notes.push('counters: not compared, because jobs were pruned during each comparison');
  return [];
}

/**
 * Compares the counters once, except `running`, `delayed`, `pruned`, `unstarted` and `sources`. Compares none if more than `max` jobs are
 * counted. Null: jobs were pruned in the meantime.
 */
function* compareCounters(reader: Reader, max: number, notes: string[]): Sliced<InvariantFailure[] | null> {
  const kept = readCounts(reader);
  const pruned = readPruneMark(reader).number;
  const blocksEnd = endOf(reader, 'blocks');
  const journalEnd = endOf(reader, 'journal');
  if (kept.reduce((jobs, { counts }) => jobs + counts.accepted, 0) > max) {
    notes.push(`counters: not compared, because there are more than ${max} jobs`);
    return [];
  }
  const counted = new Map<string, CommandTotals>();
  const countsOf = (plugin: string, command: string): CommandTotals => {
    const key = countsKey(plugin, command);
    const counts = counted.get(key) ?? emptyCounts();
    counted.set(key, counts);
    return counts;
  };
  for (const { value } of blocksEnd ? recordsOf(reader, 'blocks', blocksEnd) : []) {
    const block = readable(() => decodeBlock(value));
    if (block) countsOf(block.plugin, block.command).accepted += block.count;
    else notes.push('counters: a block cannot be decoded and is not counted');
    yield;
  }
  const { commands } = new NameTable(reader);
  for (const { key, value } of journalEnd ? recordsOf(reader, 'journal', journalEnd) : []) {
    for (const { attempt, status, final, commandNumber } of entriesOf(readUs(key), value)) {
      const name = commands[commandNumber];
      if (!name) continue;
      const counts = countsOf(name.plugin, name.command);
      counts[final ? status : retriedCount(status)]++;
      if (isNeverStarted(status, attempt)) counts.never_started++;
    }
    yield;
  }
  if (readPruneMark(reader).number !== pruned) return null;
  notes.push('counters: all');
  const failures: InvariantFailure[] = [];
  const fail = (detail: string): unknown => failures.push({ invariant: countersName, detail });
  for (const { plugin, command, counts } of kept) {
    const own = countsOf(plugin, command);
    for (const name of Object.keys(own) as (keyof CommandTotals)[]) {
      // `own` was counted from the blocks and the journal, which do not show which jobs are running or delayed.
      if (name === 'running' || name === 'delayed') continue;
      if (own[name] !== counts[name])
        fail(`${plugin}/${command}: the counter ${name} is ${counts[name]}, but there are ${own[name]}`);
    }
    counted.delete(countsKey(plugin, command));
  }
  for (const name of counted.keys()) fail(`${name.replace('\0', '/')} has jobs, but no counters`);
  return failures;
}

/** Checks that a host has each running job, except runs and actions. */
async function runningOf(
  { reader, askIdle, pause, run }: SelfcheckOptions,
  notes: string[],
): Promise<InvariantFailure[]> {
  let ids: readonly JobId[] = await run(runningJobs(reader));
  notes.push(`running jobs: all ${ids.length}`);
  for (let time = 0; time < againMax && ids.length > 0; time++) {
    if (time > 0) await pause(againMs);
    const idle = await askIdle(Buffer.concat(ids));
    if (idle === null) {
      notes.push('their workers: not compared, because the ledger does not run or has not read all unsettled jobs');
      return [];
    }
    reader.refresh();
    // Jobs that have settled since, or wait again, need no host.
    ids = idsIn(idle).filter(id => isRunning(reader, id));
  }
  return ids
    .slice(0, suspectsMax)
    .map(id => ({ invariant: runningName, detail: `the job ${formatId(id)} is running, but no worker has it` }));
}

function* runningJobs(reader: Reader): Sliced<JobId[]> {
  const ids: JobId[] = [];
  for (const { key, value } of recordsOf(reader, 'open')) {
    const open = readable(() => OpenBlock.decode(keyText(key), value));
    for (let index = 0; open && index < open.next; index++) {
      const id = jobId(key, index);
      if (readable(() => isRunning(reader, id, open))) ids.push(id);
    }
    yield;
  }
  return ids;
}

function isRunning(reader: Reader, id: JobId, known?: OpenBlock): boolean {
  const key = blockOf(id);
  const open = known ?? findOpen(reader, key);
  const index = indexOf(id);
  if (!open || !isHosted(open.plugin) || open.isSettled(index)) return false;
  return isInFlight(attemptOf(reader, open, index));
}
