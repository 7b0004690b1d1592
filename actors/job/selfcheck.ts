// The selfcheck: the running store compared with itself, in slices, while work goes on (interface, 4.5; decisions, section 5).
//
// A record that looks wrong is a suspect: commits go on between two slices. Only what is still wrong when it is asked
// again, some time later and in one slice, is told.
import { formatId, type JobId, jobId, jobIdBytes } from '../../runtime/ids.ts';
import { inSlices, type Sliced } from '../../runtime/slices.ts';
import type { Reader, Table } from '../../runtime/store/store.ts';
import { decodeBlock } from './block.ts';
import { type Counts, countsKey, emptyCounts, readCounts, retriedCount } from './counts.ts';
import { type Invariant, invariantsOf } from './invariants.ts';
import { entriesOf, readPruned, readUs } from './journal.ts';
import { Names } from './names.ts';
import { keyText, OpenBlock } from './open.ts';
import { pipelinePlugin } from './protocol.ts';
import { decodeRetry } from './retries.ts';

/** Records of each table that are looked at: of a larger one, the newest. A block counts as its jobs. */
export const lookedMax = 100_000;
/** Suspects of each invariant that are asked again, and told. */
export const suspectsMax = 20;
const pageSize = 32;
const againMs = 100;
const againMax = 5;

export type Failure = { readonly invariant: string; readonly detail: string };
export type Findings = {
  readonly invariantsChecked: number;
  readonly failures: readonly Failure[];
  readonly detail: string;
};

/** Of these jobs (16 bytes each), those that no host holds; null while a start is still reading what is open. */
export type AskIdle = (ids: Uint8Array) => Promise<Uint8Array | null>;

export type SelfcheckOptions = {
  readonly reader: Reader;
  readonly askIdle: AskIdle;
  readonly pause: (ms: number) => Promise<void>;
  readonly lookedMax?: number;
};

type Suspect = Failure & { readonly again: () => string | null };

const runningName = 'running_jobs_have_workers';
const countersName = 'counters_are_right';

export async function selfcheck(options: SelfcheckOptions): Promise<Findings> {
  const { reader, pause } = options;
  const max = options.lookedMax ?? lookedMax;
  const begin = (): void => reader.refresh();
  const invariants = invariantsOf(reader, new Names(reader));
  const notes: string[] = [];
  const suspects = await inSlices(walk(reader, invariants, max, notes), begin);
  const failures: Failure[] = [];
  if (suspects.length > 0) await pause(againMs);
  await inSlices(askAgain(suspects, failures), begin);
  failures.push(...(await countersOf(reader, max, notes, begin)));
  failures.push(...(await runningOf(options, notes, begin)));
  return { invariantsChecked: invariants.length + 2, failures, detail: notes.join('; ') };
}

function* walk(reader: Reader, invariants: readonly Invariant[], max: number, notes: string[]): Sliced<Suspect[]> {
  const suspects: Suspect[] = [];
  const found = new Map<string, number>();
  for (const table of new Set(invariants.map(invariant => invariant.table))) {
    const asked = invariants.filter(invariant => invariant.table === table);
    const all = reader.count(table);
    let looked = 0;
    let weight = 0;
    for (
      let page = pageOf(reader, table);
      page.length > 0 && weight < max;
      page = pageOf(reader, table, page.at(-1)!.key)
    ) {
      for (const { key, value } of page) {
        if (weight >= max) break;
        looked++;
        weight += table === 'blocks' ? decodeBlock(value).count : 1;
        for (const { name, wrong } of asked) {
          const detail = wrong(key, value);
          if (detail !== null && count(found, name) <= suspectsMax) {
            suspects.push({ invariant: name, detail, again: () => askOne(reader, table, key, wrong) });
          }
          yield;
        }
      }
    }
    notes.push(`${table}: ${looked >= all ? `all ${looked}` : `the newest ${looked} of ${all}`}`);
  }
  return suspects;
}

/** The next records in the order of age, newest first. No scan stays open. */
function pageOf(reader: Reader, table: Table, before?: Uint8Array) {
  const range = { reverse: true, limit: pageSize, ...(before && { to: before }) };
  return Array.from(reader.scan(table, range), ({ key, value }) => ({
    key: Buffer.from(key),
    value: Buffer.from(value),
  }));
}

function askOne(reader: Reader, table: Table, key: Uint8Array, wrong: Invariant['wrong']): string | null {
  const value = reader.get(table, key);
  return value ? wrong(Buffer.from(key), value) : null;
}

function* askAgain(suspects: readonly Suspect[], failures: Failure[]): Sliced<void> {
  for (const { invariant, again } of suspects) {
    const detail = again();
    if (detail !== null) failures.push({ invariant, detail });
    yield;
  }
}

function count(found: Map<string, number>, name: string): number {
  const next = (found.get(name) ?? 0) + 1;
  found.set(name, next);
  return next;
}

/** Counters against what they count, up to one commit: blocks and journal only grow beyond it, unless something is pruned. */
async function countersOf(reader: Reader, max: number, notes: string[], begin: () => void): Promise<Failure[]> {
  for (let time = 0; time < againMax; time++) {
    const failures = await inSlices(compareCounters(reader, max, notes), begin);
    if (failures) return failures;
  }
  notes.push('counters: not compared, because jobs were pruned all the time');
  return [];
}

/** Null: something was pruned meanwhile. */
function* compareCounters(reader: Reader, max: number, notes: string[]): Sliced<Failure[] | null> {
  const kept = readCounts(reader);
  const pruned = readPruned(reader).number;
  const [newestBlock] = pageOf(reader, 'blocks');
  const [newestCommit] = pageOf(reader, 'journal');
  if (kept.reduce((jobs, { counts }) => jobs + counts.accepted, 0) > max) {
    notes.push(`counters: not compared, because there are more than ${max} jobs`);
    return [];
  }
  const counted = new Map<string, Counts>();
  const countsOf = (plugin: string, command: string): Counts => {
    const key = countsKey(plugin, command);
    const counts = counted.get(key) ?? emptyCounts();
    counted.set(key, counts);
    return counts;
  };
  yield* upTo(reader, 'blocks', newestBlock?.key, (_, value) => {
    const { plugin, command, count: jobs } = decodeBlock(value);
    countsOf(plugin, command).accepted += jobs;
  });
  const { commands } = new Names(reader);
  yield* upTo(reader, 'journal', newestCommit?.key, (key, value) => {
    for (const { status, final, commandNumber } of entriesOf(readUs(key), value)) {
      const name = commands[commandNumber];
      if (!name) continue;
      const counts = countsOf(name.plugin, name.command);
      counts[final ? status : retriedCount(status)]++;
    }
  });
  if (readPruned(reader).number !== pruned) return null;
  notes.push('counters: all');
  const failures: Failure[] = [];
  const fail = (detail: string): unknown => failures.push({ invariant: countersName, detail });
  for (const { plugin, command, counts } of kept) {
    const own = countsOf(plugin, command);
    for (const name of Object.keys(own) as (keyof Counts)[]) {
      if (own[name] !== counts[name]) fail(`${plugin}/${command}: ${name} is ${counts[name]}, there are ${own[name]}`);
    }
    counted.delete(countsKey(plugin, command));
  }
  for (const name of counted.keys()) fail(`${name.replace('\0', '/')} has jobs and no counters`);
  return failures;
}

function* upTo(
  reader: Reader,
  table: Table,
  newest: Uint8Array | undefined,
  take: (key: Uint8Array, value: Uint8Array) => void,
): Sliced<void> {
  if (!newest) return;
  const beyond = Buffer.concat([newest, Buffer.of(0)]);
  for (let page = pageOf(reader, table, beyond); page.length > 0; page = pageOf(reader, table, page.at(-1)!.key)) {
    for (const { key, value } of page) {
      take(key, value);
      yield;
    }
  }
}

/** Every running job is held by a host. */
async function runningOf(
  { reader, askIdle, pause }: SelfcheckOptions,
  notes: string[],
  begin: () => void,
): Promise<Failure[]> {
  let ids: readonly JobId[] = await inSlices(runningJobs(reader), begin);
  notes.push(`running jobs: all ${ids.length}`);
  for (let time = 0; time < againMax && ids.length > 0; time++) {
    if (time > 0) await pause(againMs);
    const idle = await askIdle(Buffer.concat(ids));
    if (idle === null) {
      notes.push('their workers: not asked, because a start is still reading');
      return [];
    }
    begin();
    // What has settled, or waits again, since it was seen is fine.
    ids = idsOf(idle).filter(id => isRunning(reader, id));
  }
  return ids
    .slice(0, suspectsMax)
    .map(id => ({ invariant: runningName, detail: `the job ${formatId(id)} is running, but no worker has it` }));
}

function* runningJobs(reader: Reader): Sliced<JobId[]> {
  const ids: JobId[] = [];
  for (let page = pageOf(reader, 'open'); page.length > 0; page = pageOf(reader, 'open', page.at(-1)!.key)) {
    for (const { key, value } of page) {
      const open = OpenBlock.decode(keyText(key), value);
      for (let index = 0; index < open.next; index++) {
        const id = jobId(key, index);
        if (isRunning(reader, id, open)) ids.push(id);
      }
      yield;
    }
  }
  return ids;
}

function isRunning(reader: Reader, id: JobId, known?: OpenBlock): boolean {
  const key = id.subarray(0, 12);
  const bytes = known ? undefined : reader.get('open', key);
  const open = known ?? (bytes && OpenBlock.decode(keyText(key), bytes));
  if (!open || open.plugin === pipelinePlugin) return false;
  const retry = open.retrying > 0 ? reader.get('retries', id) : undefined;
  if (retry) return decodeRetry(retry).stage !== 'waiting';
  return open.isOut(Buffer.from(id).readUInt32BE(12));
}

function idsOf(bytes: Uint8Array): JobId[] {
  return Array.from({ length: bytes.length / jobIdBytes }, (_, i) => Buffer.from(bytes.subarray(i * 16, i * 16 + 16)));
}
