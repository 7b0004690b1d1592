// The list of jobs, newest first (docs/contract.md#job-list): pages by index, totals by counters. Nothing here looks at every job.
import { type BlockKey, blockKeyBytes, blockOf, indexOf, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { AttemptPage, attemptKey, type NumberedAttempt } from '../records/attempts.ts';
import { type Block, decodeBlock } from '../records/block.ts';
import { openOf as openCount, readCounts } from '../records/counts.ts';
import { type Status, statuses } from '../records/job.ts';
import type { NameTable } from '../records/name-table.ts';
import { isUntouched, keyText, OpenBlock } from '../records/open.ts';
import { type JobFilter, type JobPage, type JobRow, rowOf, stateOf } from './job-page.ts';
import { openOf } from './job-view.ts';
import { attemptsOfJobs } from './jobs.ts';
import { listWithin } from './tree-listing.ts';

/** One page of the jobs that match, and the total. `before`: the last job of the previous page. */
export function* listJobs(
  reader: Reader,
  names: NameTable,
  filter: JobFilter,
  limit: number,
  before: JobId | null,
): Sliced<JobPage> {
  if (filter.within.length > 0) return yield* listWithin(reader, filter, limit, before ?? endOfIds);
  const list = new PageBuilder(reader, filter, limit + 1, before ?? endOfIds);
  const { status } = filter;
  const numbers = filter.plugin === null && filter.command === null ? null : numbersOf(names, filter);
  if (status === 'queued' || status === 'running') yield* list.open(status);
  else if (status !== null && status !== 'succeeded') list.unsuccessful(numbers ?? names.commands.map(numberOf));
  else if (numbers !== null) yield* list.byCommand(numbers);
  else if (status === null) yield* list.all();
  else yield* list.succeeded();
  const { rows } = list;
  return { rows: rows.slice(0, limit), total: totalOf(reader, filter), more: rows.length > limit, atLeast: false };
}

/** Above every id. */
const endOfIds = Buffer.alloc(jobIdBytes, 0xff);
/** Records that are read in one scan. */
const pageSize = 64;
const openPageSize = 256;

const numberOf = ({ number }: { readonly number: number }) => number;

function numbersOf(names: NameTable, { plugin, command }: JobFilter): number[] {
  const wanted = names.commands.filter(
    name => (plugin === null || name.plugin === plugin) && (command === null || name.command === command),
  );
  return wanted.map(numberOf);
}

function totalOf(reader: Reader, { plugin, command, status }: JobFilter): number {
  let total = 0;
  for (const each of readCounts(reader)) {
    if (plugin !== null && each.plugin !== plugin) continue;
    if (command !== null && each.command !== command) continue;
    if (status === 'queued' || status === 'running') total += openCount(each, status);
    else total += each.counts[status ?? 'accepted'];
  }
  return total;
}

class PageBuilder {
  readonly rows: JobRow[] = [];
  readonly #reader: Reader;
  readonly #filter: JobFilter;
  readonly #rowsMax: number;
  /** All rows are below it. */
  readonly #before: Buffer;

  constructor(reader: Reader, filter: JobFilter, rowsMax: number, before: Uint8Array) {
    this.#reader = reader;
    this.#filter = filter;
    this.#rowsMax = rowsMax;
    this.#before = Buffer.from(before);
  }

  get #full(): boolean {
    return this.rows.length >= this.#rowsMax;
  }

  /** All jobs: blocks backwards. */
  *all(): Sliced<void> {
    for (let to = keyAfter(blockOf(this.#before)); ; ) {
      let seen = 0;
      for (const { key, value } of this.#reader.scan('blocks', { to, reverse: true, limit: pageSize })) {
        this.#takeBlock(key, decodeBlock(value));
        if (this.#full) return;
        to = Buffer.from(key);
        seen++;
      }
      if (seen < pageSize) return;
      yield;
    }
  }

  /** The jobs of some commands: their blocks by index. */
  *byCommand(numbers: readonly number[]): Sliced<void> {
    for (let to = keyAfter(blockOf(this.#before)); ; ) {
      const keys = this.#newest('by_command', numbers, Buffer.alloc(0), to, Math.min(pageSize, this.#rowsMax));
      for (const key of keys) {
        const value = this.#reader.get('blocks', key);
        if (value) this.#takeBlock(key, decodeBlock(value));
        if (this.#full) return;
        to = key;
        // A block may have a thousand jobs that do not match.
        yield;
      }
      if (keys.length === 0) return;
    }
  }

  /** Jobs that succeeded: attempts backwards, so that waiting jobs cost nothing. */
  *succeeded(): Sliced<void> {
    for (let to = attemptKey(this.#before, 0); ; ) {
      let seen = 0;
      for (const { key, value } of this.#reader.scan('attempts', { to, reverse: true, limit: pageSize })) {
        to = Buffer.from(key);
        seen++;
        const stretch = new AttemptPage(this.#reader, to, value);
        const block = this.#blockOf(stretch.block);
        if (block) this.#takeStretch(stretch, block);
        if (this.#full) return;
      }
      if (seen < pageSize) return;
      yield;
    }
  }

  /** Jobs that ended in another way: they have an index of their own. */
  unsuccessful(numbers: readonly number[]): void {
    const code = Buffer.of(statuses.indexOf(this.#filter.status!));
    for (const id of this.#newest('unsuccessful', numbers, code, this.#before, this.#rowsMax)) {
      const ending = attemptsOfJobs(this.#reader, blockOf(id), indexOf(id), indexOf(id) + 1).get(indexOf(id));
      if (ending) this.#takeOne(id, ending);
    }
  }

  /** Unsettled jobs: the newest open blocks. */
  *open(status: 'queued' | 'running'): Sliced<void> {
    const { plugin, command } = this.#filter;
    for (let to = keyAfter(blockOf(this.#before)); ; ) {
      let seen = 0;
      for (const { key, value } of this.#reader.scan('open', { to, reverse: true, limit: openPageSize })) {
        to = Buffer.from(key);
        seen++;
        // Very many queued jobs may come before the running ones.
        if (status === 'running' && isUntouched(value)) continue;
        const open = OpenBlock.decode(keyText(key), value);
        if (plugin !== null && open.plugin !== plugin) continue;
        if (command !== null && open.command !== command) continue;
        this.#takeOpen(to, open, status);
        if (this.#full) return;
      }
      if (seen < openPageSize) return;
      yield;
    }
  }

  /** Those of the block's jobs that have this status become rows. */
  #takeOpen(key: Buffer, open: OpenBlock, status: 'queued' | 'running'): void {
    const state = stateOf(this.#reader, key, open);
    const wanted: number[] = [];
    const room = this.#rowsMax - this.rows.length;
    for (let index = this.#endIn(key, open.count) - 1; index >= 0 && wanted.length < room; index--) {
      if (!open.isSettled(index) && state(index) === status) wanted.push(index);
    }
    const value = wanted.length > 0 ? this.#reader.get('blocks', key) : undefined;
    if (!value) return;
    const block = decodeBlock(value);
    const endings = attemptsOfJobs(this.#reader, key, wanted.at(-1)!, wanted[0]! + 1);
    for (const index of wanted) this.rows.push(this.#rowOf(block, jobId(key, index), endings.get(index), status));
  }

  /** Adds the jobs of a block that match, until the page is full. */
  #takeBlock(key: Uint8Array, block: Block): void {
    const end = this.#endIn(key, block.count);
    if (this.#filter.status === 'succeeded') this.#takeSucceeded(key, block, end);
    else this.#takeAny(key, block, end);
  }

  #takeAny(key: Uint8Array, block: Block, end: number): void {
    const start = Math.max(0, end - (this.#rowsMax - this.rows.length));
    const endings = attemptsOfJobs(this.#reader, key, start, end);
    const open = openOf(this.#reader, key);
    const state = open && stateOf(this.#reader, key, open);
    for (let index = end - 1; index >= start; index--) {
      const ending = endings.get(index);
      const status = ending?.attempt.final ? ending.attempt.status : (state?.(index) ?? 'queued');
      this.rows.push(this.#rowOf(block, jobId(key, index), ending, status));
    }
  }

  #takeSucceeded(key: Uint8Array, block: Block, end: number): void {
    const range = { from: attemptKey(jobId(key, 0), 0), to: attemptKey(jobId(key, end), 0), reverse: true };
    for (const entry of this.#reader.scan('attempts', range)) {
      this.#takeStretch(new AttemptPage(this.#reader, entry.key, entry.value), block);
      if (this.#full) return;
    }
  }

  /** Adds the jobs of a block that succeeded. */
  #takeStretch(stretch: AttemptPage, block: Block): void {
    const { number, first, count } = stretch;
    for (let index = this.#endIn(stretch.block, first + count) - 1; index >= first && !this.#full; index--) {
      const attempt = stretch.attempt(index)!;
      if (!attempt.final || attempt.status !== 'succeeded') continue;
      this.rows.push(this.#rowOf(block, jobId(stretch.block, index), { number, attempt }, 'succeeded'));
    }
  }

  #takeOne(id: JobId, ending: NumberedAttempt): void {
    const value = this.#blockOf(blockOf(id));
    if (value) this.rows.push(this.#rowOf(value, id, ending, ending.attempt.status));
  }

  #lastBlock: { readonly name: string; readonly block: Block } | null = null;

  /** Neighbours share it. */
  #blockOf(key: BlockKey): Block | undefined {
    const name = keyText(key);
    if (this.#lastBlock?.name === name) return this.#lastBlock.block;
    const value = this.#reader.get('blocks', key);
    if (!value) return undefined;
    this.#lastBlock = { name, block: decodeBlock(value) };
    return this.#lastBlock.block;
  }

  #rowOf(block: Block, id: JobId, ending: NumberedAttempt | undefined, status: Status): JobRow {
    return rowOf(this.#reader, block, id, ending, status);
  }

  /** How many of the block's jobs, from its first, are below the page's upper end. */
  #endIn(key: Uint8Array, count: number): number {
    const order = Buffer.compare(key, this.#before.subarray(0, blockKeyBytes));
    if (order !== 0) return order < 0 ? count : 0;
    return Math.min(count, indexOf(this.#before));
  }

  /** The newest keys below `to` in the ranges of some numbers, without their prefix. */
  #newest(
    table: 'by_command' | 'unsuccessful',
    numbers: readonly number[],
    more: Buffer,
    to: Buffer,
    limit: number,
  ): Buffer[] {
    const found: Buffer[] = [];
    for (const number of numbers) {
      const prefix = Buffer.alloc(4 + more.length);
      prefix.writeUInt32BE(number, 0);
      prefix.set(more, 4);
      const range = { from: prefix, to: Buffer.concat([prefix, to]), reverse: true, limit };
      for (const { key } of this.#reader.scan(table, range)) found.push(Buffer.from(key.subarray(prefix.length)));
    }
    return found.sort((a, b) => Buffer.compare(b, a)).slice(0, limit);
  }
}

/** The smallest key above all that begin with this one. */
function keyAfter(key: Uint8Array): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}
