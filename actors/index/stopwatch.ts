// The stopwatch adds the times of each attempt that ran, and of each job that ended after an attempt, to the histograms of the minute in which
// the attempt or job ended.

import { bodyPart } from '../../runtime/host/wire/outcome.ts';
import { areSpans } from '../../runtime/host/wire/packed-spans.ts';
import { blockOf } from '../../runtime/ids.ts';
import { unpack } from '../../runtime/packing.ts';
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import { isHosted, pipelinePlugin } from '../job/records/job.ts';
import { AttemptReader, hasRun, type JournalEntry } from '../job/records/journal.ts';
import { type CommandName, NameTable } from '../job/records/name-table.ts';
import { rescheduledTo } from '../job/records/rescheduled.ts';
import { BlockCache } from '../job/views/block-cache.ts';
import { GroupReader } from '../job/views/group-reader.ts';
import type { IndexStores, JournalConsumer } from './consumer.ts';
import { HoldEnds } from './hold-ends.ts';
import {
  commandStep,
  MinutePage,
  minutesKept,
  minuteUs,
  pageKey,
  pipelineStep,
  stopwatchName,
} from './records/stopwatch.ts';
import { Totals } from './totals.ts';

/** The maximum number of old pages that one commit removes. */
const pagesPerPrune = 1_000;

type OpenPage = { readonly minute: number; readonly key: Buffer; readonly page: MinutePage; isDirty: boolean };
/** The names of a command's histograms in a page. */
type StepNames = { readonly run: string; readonly queue: string; readonly waited: string; readonly total: string };

export class Stopwatch implements JournalConsumer {
  readonly name = stopwatchName;
  readonly #stores: IndexStores;
  readonly #attempts: AttemptReader;
  readonly #names: NameTable;
  readonly #holdEnds: HoldEnds;
  readonly #totals: Totals;
  /** Finds the name of the histogram of a job's pipeline step. Null: the job belongs to no step, or is no longer stored. */
  readonly #steps: GroupReader<string | null>;
  /** Finds the time to run that was set when a job was accepted. Null: no such time was set, or the job is no longer stored. */
  readonly #runAt: GroupReader<number | null>;
  /** By plugin: the page to which the plugin's last attempt was added. */
  readonly #pages = new Map<string, OpenPage>();
  #newest = 0;
  /** The names by command number. */
  readonly #stepNames: StepNames[] = [];

  constructor(stores: IndexStores) {
    this.#stores = stores;
    this.#attempts = new AttemptReader(stores.ledger);
    this.#names = new NameTable(stores.ledger);
    this.#holdEnds = new HoldEnds(stores.ledger);
    this.#totals = new Totals(stores.index);
    const blocks = new BlockCache(stores.ledger);
    const find = (id: Uint8Array) => blocks.findUsable(blockOf(id));
    this.#runAt = new GroupReader(find, ({ options }) => options?.runAtUs ?? null);
    this.#steps = new GroupReader(find, ({ pipeline, stepId }) =>
      pipeline === null || stepId === null ? null : pipelineStep(pipeline, stepId),
    );
  }

  take(entries: readonly JournalEntry[], batch: Batch<IndexTable>): number {
    const { commands } = this.#names;
    this.#holdEnds.refresh();
    for (const entry of entries) {
      const name = commands[entry.commandNumber]!;
      // A run counts only in the running totals: pages have the times of its jobs.
      if (isHosted(name.plugin)) this.#takeOne(entry, name, batch);
      else if (name.plugin === pipelinePlugin && entry.attempt > 0) this.#totals.run(entry, name.command, entry.status);
    }
    this.#totals.write(batch);
    for (const open of this.#pages.values()) writePage(open, batch);
    this.#turnTo(Math.floor(entries.at(-1)!.atUs / minuteUs), batch);
    return entries.length;
  }

  #takeOne(entry: JournalEntry, name: CommandName, batch: Batch<IndexTable>): void {
    const ran = hasRun(entry.status, entry.attempt, entry.ranUs);
    // A job that was stopped while it waited for another attempt has a total time, although the attempt of this entry did not run.
    const isTotal = entry.final && (ran || entry.attempt > 1);
    if (!ran && !isTotal) return;
    const page = this.#pageOf(Math.floor(entry.atUs / minuteUs), name.plugin, batch);
    if (ran) this.#addAttempt(entry, name, page);
    if (!isTotal) return;
    const totalUs = entry.queuedUs + entry.ranUs;
    page.add(this.#namesOf(name).total, totalUs, entry);
    this.#totals.job(entry, name, totalUs);
  }

  /** Adds the times of an attempt that ran, except the total time of its job. */
  #addAttempt(entry: JournalEntry, name: CommandName, page: MinutePage): void {
    const { run, queue, waited } = this.#namesOf(name);
    const { queuedUs, ranUs } = entry;
    page.add(run, ranUs, entry);
    let queueUs: number | null = null;
    if (entry.attempt === 1) {
      // If the job was delayed or held, its time in the queue begins at the end of the delay or hold. The time before that end
      // counts as `waited`.
      const startedUs = entry.atUs - ranUs;
      const freeUs = this.#freeUs(entry, name, startedUs);
      if (freeUs !== null) page.add(waited, freeUs - (startedUs - queuedUs), entry);
      queueUs = freeUs === null ? queuedUs : startedUs - freeUs;
      page.add(queue, queueUs, entry);
    }
    this.#totals.attempt(entry, name, queueUs);
    const step = entry.isInStep ? this.#steps.find(entry.id) : null;
    if (step !== null) {
      page.add(step, ranUs, entry);
      this.#totals.step(entry, step);
    }
    if (!entry.hasSpans) return;
    for (const { name, dur_ns } of this.#spansOf(entry)) {
      page.addSpan(run, name, dur_ns / 1000);
      if (step !== null) page.addSpan(step, name, dur_ns / 1000);
    }
  }

  /** The time at which a delayed or held job could first run. Null: the job could run as soon as it was accepted. */
  #freeUs(entry: JournalEntry, { plugin, command }: CommandName, startedUs: number): number | null {
    const acceptedUs = startedUs - entry.queuedUs;
    const heldUs = this.#holdEnds.last(plugin, command, acceptedUs, startedUs);
    const runAtUs = entry.delayed ? (rescheduledTo(this.#stores.ledger, entry.id) ?? this.#runAt.find(entry.id)) : null;
    const freeUs = Math.min(Math.max(heldUs ?? 0, runAtUs ?? 0), startedUs);
    return freeUs > acceptedUs ? freeUs : null;
  }

  #namesOf({ number, command }: CommandName): StepNames {
    let names = this.#stepNames[number];
    if (!names) {
      names = {
        run: commandStep(command, 'run'),
        queue: commandStep(command, 'queue'),
        waited: commandStep(command, 'waited'),
        total: commandStep(command, 'total'),
      };
      this.#stepNames[number] = names;
    }
    return names;
  }

  /** The spans of an attempt; none if they are missing or damaged. */
  #spansOf(entry: JournalEntry): readonly { readonly name: string; readonly dur_ns: number }[] {
    const body = this.#attempts.findBody(entry);
    const spans = body && bodyPart(body, 'spans');
    return spans && areSpans(spans) ? unpack(spans) : [];
  }

  #pageOf(minute: number, plugin: string, batch: Batch<IndexTable>): MinutePage {
    let open = this.#pages.get(plugin);
    if (open?.minute !== minute) {
      if (open) writePage(open, batch);
      const key = pageKey(minute, plugin);
      open = { minute, key, page: new MinutePage(this.#stores.index.get('stopwatch', key)), isDirty: true };
      this.#pages.set(plugin, open);
    }
    open.isDirty = true;
    return open.page;
  }

  /**
   * Begins a minute: drops the pages of earlier minutes from memory, because they have been written, and removes some stored pages that
   * are older than `minutesKept`.
   */
  #turnTo(minute: number, batch: Batch<IndexTable>): void {
    if (minute <= this.#newest) return;
    this.#newest = minute;
    for (const [plugin, open] of this.#pages) if (open.minute < minute) this.#pages.delete(plugin);
    const to = pageKey(Math.max(0, minute - minutesKept), '');
    for (const { key } of this.#stores.index.scan('stopwatch', { to, limit: pagesPerPrune })) {
      batch.remove('stopwatch', Buffer.from(key));
    }
  }
}

function writePage(open: OpenPage, batch: Batch<IndexTable>): void {
  if (open.isDirty) batch.put('stopwatch', open.key, open.page.encode());
  open.isDirty = false;
}
