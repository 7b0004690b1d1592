// What must hold of every commit: the invariants of the records that it touches, and what no commit may change of earlier ones.

import type { Gauges } from '../../../actors/job/gauges.ts';
import { attemptsOf } from '../../../actors/job/records/attempts.ts';
import { groupOf } from '../../../actors/job/records/block.ts';
import { isHosted, type JobGroup, type TerminalStatus } from '../../../actors/job/records/job.ts';
import { NameTable } from '../../../actors/job/records/name-table.ts';
import type { OpenBlock } from '../../../actors/job/records/open.ts';
import { isInFlight } from '../../../actors/job/records/retry.ts';
import type { Invariant } from '../../../actors/job/views/invariant.ts';
import { invariantsOf } from '../../../actors/job/views/invariants.ts';
import { scheduleInvariants } from '../../../actors/schedule/views/schedule-invariants.ts';
import { type Body, bodyPart, hasPart } from '../../../runtime/host/wire/outcome.ts';
import {
  blockKeyBytes,
  blockOf,
  formatId,
  indexOf,
  type JobId,
  jobId,
  jobIdBytes,
  parseId,
} from '../../../runtime/ids.ts';
import { type Json, unpack } from '../../../runtime/packing.ts';
import { partsIn, wholeOf } from '../../../runtime/parted.ts';
import type { WriteBatch } from '../../../runtime/store/batch.ts';
import type { Batch, Reader, Table } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import { Counted } from './counted.ts';
import { CountedRuns } from './counted-runs.ts';
import { Dice } from './dice.ts';
import { hexOf, textOf } from './key-text.ts';
import { anywhere, bitOf, bitsOf, blockAt, followsFrom, nowhere, type Tables } from './questions.ts';
import { blockIn, openIn } from './remembered.ts';
import { ScheduleModel, schedulesOf } from './schedule-model.ts';

export type KnownAttempt = {
  readonly number: number;
  readonly status: TerminalStatus;
  readonly final: boolean;
  readonly startedUs: number;
  readonly completedUs: number;
  readonly body: Body;
};
/** A job as it is known from the commits, kept when retention has taken it. */
export type KnownJob = {
  readonly id: string;
  readonly plugin: string;
  readonly command: string;
  /** The number of the commit that created it. */
  readonly commit: number;
  readonly createdUs: number;
  readonly group: JobGroup;
  /** Its place in its run; null if it is in none. */
  readonly place: string | null;
  readonly payload: Json;
  readonly attempts: readonly KnownAttempt[];
};
type KnownBlock = {
  readonly ids: readonly string[];
  next: number /** The commit that pruned it. */;
  prunedAt: number | null;
};

/** An invariant. If it is about a block, `from` has the only tables on which its answer depends. */
type Question = Invariant & { readonly from: Tables };

/** Records that no process can decode, so that the ledger behaves as if they said nothing. */
type PoisonedRecords = {
  readonly has: (table: Table, key: Uint8Array) => boolean;
  /** Whether the tree with this root has such a record: counts of the tree may be wrong. */
  readonly isDamaged: (root: string) => boolean;
};

export class Commits {
  readonly #reader: Reader;
  readonly #blocks = new Map<string, KnownBlock>();
  readonly #jobs = new Map<string, KnownJob>();
  readonly #counted: Counted;
  readonly #countedRuns: CountedRuns;
  readonly schedules: ScheduleModel;
  /** The records of open blocks. */
  readonly #open = new Map<string, OpenBlock>();
  /** Jobs of each block that hosts hold. */
  readonly #running = new Map<
    string,
    { readonly plugin: string; readonly command: string; readonly running: number }
  >();
  #invariants: ReadonlyMap<Table, readonly Question[]>;
  /** Commits so far. */
  count = 0;
  readonly #poison: PoisonedRecords;

  constructor(reader: Reader, seed: number, poison: PoisonedRecords) {
    this.#reader = reader;
    this.#poison = poison;
    this.#invariants = byTable(reader);
    this.#counted = new Counted(reader);
    this.#countedRuns = new CountedRuns(reader);
    this.schedules = new ScheduleModel(reader, schedulesOf(new Dice(seed, 'schedules')));
  }

  /** Every job that ever existed. */
  jobs(): Iterable<KnownJob> {
    return this.#jobs.values();
  }

  find(id: string): KnownJob | undefined {
    return this.#jobs.get(id);
  }

  /** How often the tree of the job has been run again. */
  againOf(id: string): number {
    const root = this.find(id)?.group.root;
    const rerun = this.find(root ? formatId(root) : id)?.group.rerun;
    return rerun ? 1 + this.againOf(formatId(rerun.of)) : 0;
  }

  /** The next commit begins a delayed run, which uses the definitions in force at that commit. */
  began(id: string): void {
    this.#jobs.set(id, { ...this.#jobs.get(id)!, commit: this.count + 1 });
  }

  /** The commit in which retention removed the job; null if the job is still stored. */
  prunedAt(id: string): number | null {
    return this.#blocks.get(textOf(blockOf(parseId(id)!)))?.prunedAt ?? null;
  }

  /** Checks and notes a batch before it is in the store. */
  before(batch: Batch): void {
    this.schedules.committing(batch);
    const { tables, keys, values } = batch as WriteBatch;
    for (let place = tables.indexOf('blocks'); place >= 0; place = tables.indexOf('blocks', place + 1)) {
      const key = keys[place]!;
      const name = textOf(key);
      holds(
        values[place] === undefined || !this.#blocks.has(name),
        () => `the block ${hexOf(name)} is written a second time`,
      );
      if (values[place] !== undefined) continue;
      holds(!this.#reader.get('open', key), () => `the block ${hexOf(name)} is pruned while jobs of it are open`);
      const known = this.#blocks.get(name);
      holds(known?.prunedAt === null, () => `the block ${hexOf(name)} is pruned and does not exist`);
      known!.prunedAt = this.count + 1;
      for (const id of known!.ids) this.#counted.add(this.#jobs.get(id)!, -1);
    }
  }

  /** Checks the invariants that a batch affects, after it is in the store. */
  after(batch: Batch): void {
    this.schedules.committed();
    this.count++;
    const { tables, keys } = batch as WriteBatch;
    /** By block: the tables in which records of the block changed. */
    const touched = new Map<string, Tables>();
    const changed = tables.includes('arrivals') ? anywhere : nowhere;
    if (tables.includes('names')) this.#invariants = byTable(this.#reader);
    for (let place = 0; place < tables.length; place++) {
      const table = tables[place]!;
      const at = blockAt[table];
      const key = keys[place]!;
      if (table === 'counters') this.#counted.written(key);
      else this.#countedRuns.written(table, key);
      if (at !== undefined) {
        const name = textOf(key, at, at + blockKeyBytes);
        touched.set(name, (touched.get(name) ?? changed) | bitOf(table));
      }
      if (table !== 'blocks' && table !== 'open') this.#ask(table, key, nowhere);
    }
    for (const [name, changed] of touched) {
      const key = Buffer.from(name, 'latin1');
      this.#ask('open', key, changed);
      this.#ask('blocks', key, changed);
      this.#follow(name, key, changed);
    }
    // Jobs of a hold may end in a commit that does not write the hold, so each hold is checked.
    for (const key of this.#reader.keys('holds', {})) this.#ask('holds', key, nowhere);
    this.#counted.compare();
    this.#countedRuns.compare();
  }

  /** Every invariant of every record. */
  all(): void {
    for (const table of this.#invariants.keys()) {
      for (const { key } of [...this.#reader.scan(table, {})]) this.#ask(table, key, null);
    }
  }

  /** The roots of the trees of the open jobs that depend on this record. */
  *rootsOf(table: Table, key: Buffer): Iterable<string> {
    if (table !== 'open') yield this.rootOf(key);
    else for (const id of this.#unsettledOf(key)) yield this.rootOf(id);
  }

  /** The root of the tree of the job with whose id the key begins. */
  rootOf(key: Uint8Array): string {
    const id = formatId(key.subarray(0, jobIdBytes));
    const root = this.find(id)?.group.root;
    return root ? formatId(root) : id;
  }

  *#unsettledOf(key: Buffer): Iterable<JobId> {
    const open = openIn(key, this.#reader.get('open', key)!);
    for (let index = 0; index < open.count; index++) if (!open.isSettled(index)) yield jobId(key, index);
  }

  /** From now on no process can read the open record of this block, so its jobs do not count as running. */
  poisoned(key: Buffer): void {
    const block = key.subarray(0, blockKeyBytes);
    const value = this.#reader.get('open', block);
    this.#countRunning(textOf(block), Buffer.from(block), value && openIn(block, value));
  }

  /** The gauges in memory must agree with the records on disk. */
  compareGauges(gauges: Gauges): void {
    this.#counted.compareRunning();
    let jobs = 0;
    for (const { plugin, unsettled, delayed, keyBytes } of this.#open.values())
      if (isHosted(plugin) && !this.#poison.has('open', keyBytes)) jobs += unsettled - delayed;
    const counted = gauges.get('queued') + gauges.get('running') + gauges.get('retrying');
    holds(counted === jobs, () => `the ledger counts ${counted} unsettled jobs, and ${jobs} are on disk`);
    const runs = this.#countedRuns.open;
    holds(gauges.get('runs') === runs, () => `the ledger has ${gauges.get('runs')} open runs, and ${runs} are on disk`);
  }

  /** Ids of the jobs that hosts hold, by the records. */
  *out(): Iterable<string> {
    for (const { key, value } of this.#reader.scan('open', {})) {
      const open = openIn(key, value);
      if (!isHosted(open.plugin)) continue;
      for (let index = 0; index < open.next; index++) {
        const id = jobId(Buffer.from(key), index);
        if (this.#isOutOf(open, id)) yield formatId(id);
      }
    }
  }

  isOut(id: JobId): boolean {
    const value = this.#reader.get('open', blockOf(id));
    return value !== undefined && this.#isOutOf(openIn(blockOf(id), value), id);
  }

  #isOutOf(open: OpenBlock, id: JobId): boolean {
    if (this.#poison.has('open', blockOf(id)) || this.#poison.has('retries', id)) return false;
    const retry = open.retrying > 0 ? this.#reader.get('retries', id) : undefined;
    const stage = retry && unpack<[number, number, string]>(retry)[2];
    if (stage !== undefined) return stage === 'out' || stage === 'alone';
    return !open.isSettled(indexOf(id)) && isInFlight(open.firstAttempt(indexOf(id)));
  }

  /** Attempts that ran alone in a host, by the records: if all hosts end, these may be charged. */
  *alone(): Iterable<{ readonly id: string; readonly attempt: number }> {
    for (const { key, value } of this.#reader.scan('open', {})) {
      const open = openIn(key, value);
      for (let index = 0; index < open.next; index++) {
        const isAlone = !open.isSettled(index) && open.firstAttempt(index).custody === 'sentAlone';
        if (isAlone) yield { id: formatId(jobId(Buffer.from(key), index)), attempt: 1 };
      }
    }
    for (const { key, value } of this.#reader.scan('retries', {})) {
      const [attempt, , stage] = unpack<[number, number, string]>(value);
      if (stage === 'alone' || stage === 'lost') yield { id: formatId(Buffer.from(key)), attempt };
    }
  }

  /** Checks the invariants of a record: those that depend on one of the tables `changed`, or on any table (questions.ts). Null: all invariants. */
  #ask(table: Table, key: Uint8Array, changed: Tables | null): void {
    const invariants = this.#invariants.get(table);
    const value = invariants && this.#reader.get(table, key);
    if (!value) return;
    if ((table === 'open_trees' || table === 'descendants') && this.#poison.isDamaged(formatId(key))) return;
    // One key object for all invariants, because they cache what they decode by the key object.
    const own = Buffer.from(key);
    for (const { name, from, wrong } of invariants) {
      if (changed !== null && from !== anywhere && (from & changed) === 0) continue;
      const detail = wrong(own, value);
      holds(detail === null, () => `${name}: ${detail}`);
    }
  }

  /** Ends of attempts must not change, and new attempts must have the next numbers. */
  #follow(name: string, key: Buffer, changed: Tables): void {
    const bytes = this.#reader.get('blocks', key);
    const openBytes = this.#reader.get('open', key);
    const open = openBytes && openIn(key, openBytes);
    const before = this.#open.get(name);
    const delayed = (open?.delayed ?? 0) - (before?.delayed ?? 0);
    if (delayed !== 0) this.#counted.of(open ?? before!).delayed += delayed;
    if (open) this.#open.set(name, open);
    else this.#open.delete(name);
    if (!bytes) return;
    this.#countRunning(name, key, open);
    let known = this.#blocks.get(name);
    if (!known) {
      const block = blockIn(bytes);
      const ids = Array.from({ length: block.count }, (_, index) => formatId(jobId(key, index)));
      known = { ids, next: 0, prunedAt: null };
      for (let index = 0; index < block.count; index++) {
        const { group, offset } = groupOf(block, index);
        this.#jobs.set(ids[index]!, {
          id: ids[index]!,
          plugin: block.plugin,
          command: block.command,
          commit: this.count,
          createdUs: block.createdUs,
          group,
          place: placeOf(group, offset),
          payload: unpack<Json>(wholeOf(partsIn(this.#reader), block.payload(index))),
          attempts: [],
        });
      }
      this.#blocks.set(name, known);
      this.#counted.of(block).accepted += block.count;
    }
    if (open) {
      holds(
        open.next >= known.next,
        () => `the block ${hexOf(name)} was handed out up to ${known!.next}, and says ${open.next}`,
      );
      known.next = open.next;
    }
    if ((changed & bitOf('attempts')) === 0) return;
    const { ids } = known;
    const found: KnownAttempt[][] = ids.map(() => []);
    for (const { index, number, attempt } of attemptsOf(this.#reader, key, 0, ids.length)) {
      const { status, final, startedUs, completedUs, body } = attempt;
      found[index]!.push({ number, status, final, startedUs, completedUs, body });
    }
    for (const [index, attempts] of found.entries()) this.#grow(ids[index]!, attempts);
  }

  #countRunning(name: string, key: Buffer, open: OpenBlock | undefined): void {
    const before = this.#running.get(name);
    let running = 0;
    if (open && isHosted(open.plugin)) {
      for (let index = 0; index < open.next; index++) if (this.#isOutOf(open, jobId(key, index))) running++;
    }
    if (running === (before?.running ?? 0)) return;
    const { plugin, command } = open ?? before!;
    this.#running.set(name, { plugin, command, running });
    this.#counted.of({ plugin, command }).running += running - (before?.running ?? 0);
  }

  #grow(id: string, attempts: readonly KnownAttempt[]): void {
    const job = this.#jobs.get(id)!;
    const before = job.attempts;
    for (const [place, known] of before.entries()) {
      const now = attempts[place];
      const isSame = now?.number === known.number && now.status === known.status && now.final === known.final;
      holds(isSame, () => `attempt ${known.number} of ${job.id} had ended, and is another now`);
    }
    if (attempts.length === before.length) return;
    const fresh = attempts.slice(before.length);
    // Several attempts may end in one commit: a lost one is repeated at once, and the next one is refused before it runs, or cancelled.
    const isRefused = ({ body }: KnownAttempt) => /^the principal \S+ is revoked/.test(errorOf(body));
    const isOne = fresh.slice(1).every(attempt => isRefused(attempt) || attempt.status === 'cancelled');
    holds(isOne, () => `${fresh.length} attempts of ${job.id} end in one commit`);
    let last = before.at(-1)?.number ?? 0;
    for (const { number } of fresh) {
      holds(
        number === last + 1 || (number === 0 && last === 0),
        () => `attempt ${number} of ${job.id} ends after attempt ${last}`,
      );
      last = number;
    }
    this.#jobs.set(id, { ...job, attempts });
    this.#counted.add({ ...job, attempts: fresh }, 1, false);
  }
}

function byTable(reader: Reader): ReadonlyMap<Table, readonly Question[]> {
  const found = new Map<Table, Question[]>();
  for (const invariant of [...invariantsOf(reader, new NameTable(reader), blockIn), ...scheduleInvariants(reader)]) {
    const from = followsFrom[invariant.name];
    const { name, table, wrong } = invariant;
    const question = { name, table, wrong, from: from ? bitsOf(from) : anywhere };
    const others = found.get(table);
    if (others) others.push(question);
    else found.set(table, [question]);
  }
  return found;
}

/** The place of a job in its run. In two runs of one definition, the same step and element have the same place. */
function placeOf({ run }: JobGroup, offset: number): string | null {
  if (run === null) return null;
  const { node, path, first, within = [] } = run;
  return JSON.stringify([node, within, first === null ? path : [...path, first + offset]]);
}

/** The unpacked value of a part of an attempt's body. */
export function partOf(body: Body, part: 'result' | 'events' | 'counts'): Json | undefined {
  return hasPart(body, part) ? unpack<Json>(bodyPart(body, part)!) : undefined;
}

export function errorOf(body: Body): string {
  return hasPart(body, 'error') ? Buffer.from(bodyPart(body, 'error')!).toString() : '';
}
