// The list of jobs, newest first (docs/contract.md#job-list). A page is read from the table that suits its filter, and the total comes from
// counters. tree-listing.ts lists the jobs of one tree.
import { keyAfter } from '../../../runtime/bytes.ts';
import { type BlockKey, blockKeyBytes, blockOf, indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { AttemptPage, attemptKey, latestAttempt } from '../records/attempts.ts';
import { type Block, decodeBlock } from '../records/block.ts';
import { openOf as openCount, readCounts } from '../records/counts.ts';
import { matchesCommand } from '../records/job.ts';
import { endOfIds, numberKey } from '../records/list-indexes.ts';
import { type NameTable, numbersOf } from '../records/name-table.ts';
import { BlockCache } from './block-cache.ts';
import { type JobFilter, type JobPage, type JobRow, rowOf } from './job-page.ts';
import { BlockJobs } from './job-view.ts';
import { usableAttempts } from './jobs.ts';
import { type JobsOfBlock, type OpenStatus, takeOpenJobs } from './open-jobs.ts';
import { listWithin } from './tree-listing.ts';
import { newestKeys, unsuccessfulIds } from './unsuccessful.ts';

/** One page of the jobs that match, and the total. `before`: the last job of the previous page; null: the page is the first one. */
export function* listJobs(
  reader: Reader,
  names: NameTable,
  filter: JobFilter,
  limit: number,
  before: JobId | null,
): Sliced<JobPage> {
  if (filter.within.length > 0) return yield* listWithin(reader, filter, limit, before ?? endOfIds);
  const list = new PageBuilder(reader, names, filter, limit + 1, before ?? endOfIds);
  const { status } = filter;
  const numbers = filter.plugin === null && filter.command === null ? null : numbersOf(names, filter);
  const total = totalOf(reader, filter);
  if (status === 'queued' || status === 'running') yield* list.open(status, total);
  else if (status !== null && status !== 'succeeded') yield* list.unsuccessful();
  else if (numbers !== null) yield* list.byCommand(numbers);
  else if (status === null) yield* list.all();
  else yield* list.succeeded();
  const { rows } = list;
  return { rows: rows.slice(0, limit), total, more: rows.length > limit, atLeast: false };
}

/** The maximum number of records that one scan reads. */
const pageSize = 64;
/** The maximum number of jobs whose attempts one scan reads, if the filter has a status. */
const attemptsAtOnce = 256;

function totalOf(reader: Reader, filter: JobFilter): number {
  const { status } = filter;
  let total = 0;
  for (const each of readCounts(reader)) {
    if (!matchesCommand(filter, each)) continue;
    if (status === 'queued' || status === 'running') total += openCount(each, status);
    else total += each.counts[status ?? 'accepted'];
  }
  return total;
}

class PageBuilder {
  readonly rows: JobRow[] = [];
  readonly #reader: Reader;
  readonly #names: NameTable;
  readonly #filter: JobFilter;
  readonly #rowsMax: number;
  /** The upper bound of the page: only jobs with smaller ids become rows. */
  readonly #before: Buffer;
  readonly #blocks: BlockCache;

  constructor(reader: Reader, names: NameTable, filter: JobFilter, rowsMax: number, before: Uint8Array) {
    this.#reader = reader;
    this.#names = names;
    this.#filter = filter;
    this.#rowsMax = rowsMax;
    this.#before = Buffer.from(before);
    this.#blocks = new BlockCache(reader);
  }

  get #full(): boolean {
    return this.rows.length >= this.#rowsMax;
  }

  /** Takes jobs from all blocks, newest first. */
  *all(): Sliced<void> {
    for (let to = keyAfter(blockOf(this.#before)); ; ) {
      let seen = 0;
      for (const { key, value } of this.#reader.scan('blocks', { to, reverse: true, limit: pageSize })) {
        to = Buffer.from(key);
        seen++;
        const block = readable(() => decodeBlock(value));
        if (block) this.#take(to, block, 0, block.count);
        if (this.#full) return;
      }
      if (seen < pageSize) return;
      yield;
    }
  }

  /** Takes jobs of the commands with these numbers, newest first, from the blocks that the table `by_command` lists. */
  *byCommand(numbers: readonly number[]): Sliced<void> {
    for (let to = keyAfter(blockOf(this.#before)); ; ) {
      const keys = newestKeys(
        this.#reader,
        'by_command',
        numbers.map(numberKey),
        to,
        Math.min(pageSize, this.#rowsMax),
      );
      for (const key of keys) {
        const block = this.#blocks.readUsable(key);
        if (block) this.#take(key, block, 0, block.count);
        if (this.#full) return;
        to = key;
        // The work can be interrupted after each block, because a block may have a thousand jobs that do not match.
        yield;
      }
      if (keys.length === 0) return;
    }
  }

  /** Takes jobs that succeeded, newest first, from the table of attempts. */
  *succeeded(): Sliced<void> {
    for (let to = attemptKey(this.#before, 0); ; ) {
      let seen = 0;
      for (const { key, value } of this.#reader.scan('attempts', { to, reverse: true, limit: pageSize })) {
        to = Buffer.from(key);
        seen++;
        const page = readable(() => new AttemptPage(this.#reader, to, value));
        // A cached block can be used: the attempts are stored, and a block is pruned together with the attempts of its jobs.
        const isFinal = page && readable(() => page.attempt(page.first)?.final);
        const block = isFinal ? this.#blocks.findUsable(page.block) : undefined;
        if (page && block) this.#take(page.block, block, page.first, page.first + page.count);
        if (this.#full) return;
      }
      if (seen < pageSize) return;
      yield;
    }
  }

  /** Takes jobs that ended with the wanted status, from the table of unsuccessful jobs. */
  *unsuccessful(): Sliced<void> {
    for (const id of unsuccessfulIds(this.#reader, this.#names, this.#filter, this.#before)) {
      const block = id && this.#blocks.findUsable(blockOf(id));
      if (block) this.#take(Buffer.from(blockOf(id)), block, indexOf(id), indexOf(id) + 1);
      if (this.#full) return;
      if (id === null) yield;
    }
  }

  /** Takes unsettled jobs with this status. `total`: how many jobs match the filter, on this page and on others. */
  *open(status: OpenStatus, total: number): Sliced<void> {
    const { plugin, command } = this.#filter;
    const below = keyAfter(blockOf(this.#before));
    yield* takeOpenJobs(this.#reader, { plugin, command, status }, { total, below }, jobs => {
      this.#takeOpen(jobs);
      return this.#full;
    });
  }

  /**
   * Adds the jobs with ids smaller than `#before`, newest first, until the page is full. Queued jobs of a cancelled run are among them, with the
   * status `cancelled`, until their ends are written: skipping them could take a million reads.
   */
  #takeOpen({ key, indexes }: JobsOfBlock): void {
    const end = this.#endIn(key, Number.POSITIVE_INFINITY);
    const block = end === 0 ? undefined : this.#blocks.readUsable(key);
    if (!block) return;
    const jobs = new BlockJobs(this.#reader, key, block);
    for (const index of indexes.toReversed()) {
      if (index >= end) continue;
      if (this.#full) return;
      const id = jobId(key, index);
      const ending = readable(() => latestAttempt(this.#reader, id));
      this.rows.push(rowOf(id, jobs.view(index, ending)));
    }
  }

  /** Adds jobs with the wanted status, newest first, from index `from` up to, not including, `to`, until the page is full. */
  #take(key: BlockKey, block: Block, from: number, to: number): void {
    const { status } = this.#filter;
    const jobs = new BlockJobs(this.#reader, key, block);
    for (let top = Math.min(to, this.#endIn(key, block.count)); top > from && !this.#full; ) {
      const bottom = Math.max(from, top - (status === null ? this.#rowsMax - this.rows.length : attemptsAtOnce));
      const endings = usableAttempts(this.#reader, key, bottom, top);
      for (let index = top - 1; index >= bottom && !this.#full; index--) {
        const view = jobs.view(index, endings.get(index));
        if (status === null || view.status === status) this.rows.push(rowOf(jobId(key, index), view));
      }
      top = bottom;
    }
  }

  /** How many of the block's jobs have ids smaller than `#before`; they are its first jobs. */
  #endIn(key: Uint8Array, count: number): number {
    const order = Buffer.compare(key, this.#before.subarray(0, blockKeyBytes));
    if (order !== 0) return order < 0 ? count : 0;
    return Math.min(count, indexOf(this.#before));
  }
}
