// The stopwatch's side of the journal: how long each attempt waited and ran goes into the histograms of its minute.

import { bodyPart } from '../../runtime/host/wire/outcome.ts';
import { unpack } from '../../runtime/packing.ts';
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import { pipelinePlugin } from '../job/records/job.ts';
import { AttemptReader, type JournalEntry } from '../job/records/journal.ts';
import { type CommandName, NameTable } from '../job/records/name-table.ts';
import { type StepName, StepNameReader } from '../job/views/jobs.ts';
import type { JournalConsumer, Shelf } from './consumer.ts';
import { commandStep, minutesKept, minuteUs, Page, pageKey, pipelineStep, stopwatchName } from './records/stopwatch.ts';

/** Old pages that are dropped at once. */
const pagesPerPrune = 1_000;

export function stopwatchConsumer(shelf: Shelf): JournalConsumer {
  const book = new Stopwatch(shelf);
  return { name: stopwatchName, take: (entries, batch) => book.take(entries, batch) };
}

type OpenPage = { readonly minute: number; readonly key: Buffer; readonly page: Page; isDirty: boolean };
/** How the steps of a command are called. */
type StepNames = { readonly run: string; readonly queue: string; readonly total: string };

class Stopwatch {
  readonly #shelf: Shelf;
  readonly #attempts: AttemptReader;
  readonly #names: NameTable;
  readonly #steps: StepNameReader;
  /** The newest page of each plugin. */
  readonly #pages = new Map<string, OpenPage>();
  #newest = 0;
  /** By the numbers of commands. */
  readonly #stepNames: StepNames[] = [];
  /** The last step of a pipeline that was found, and how it is called. */
  #step: StepName | null = null;
  #stepName = '';

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
    this.#attempts = new AttemptReader(shelf.ledger);
    this.#names = new NameTable(shelf.ledger);
    this.#steps = new StepNameReader(shelf.ledger);
  }

  take(entries: readonly JournalEntry[], batch: Batch<IndexTable>): number {
    const { commands } = this.#names;
    for (const entry of entries) {
      const name = commands[entry.commandNumber]!;
      // Runs are measured by their callers, and a job that never ran has no times.
      if (name.plugin !== pipelinePlugin && entry.attempt > 0) this.#record(entry, name, batch);
    }
    for (const open of this.#pages.values()) writePage(open, batch);
    this.#turnTo(Math.floor(entries.at(-1)!.atUs / minuteUs), batch);
    return entries.length;
  }

  #record(entry: JournalEntry, name: CommandName, batch: Batch<IndexTable>): void {
    const page = this.#pageOf(Math.floor(entry.atUs / minuteUs), name.plugin, batch);
    const { run, queue, total } = this.#namesOf(name);
    const { queuedUs, ranUs } = entry;
    page.add(run, ranUs);
    if (entry.attempt === 1) page.add(queue, queuedUs);
    if (entry.final) page.add(total, queuedUs + ranUs);
    const step = entry.stepped ? this.#stepOf(entry) : null;
    if (step !== null) page.add(step, ranUs);
    if (!entry.spanned) return;
    for (const { name, dur_ns } of this.#spansOf(entry)) {
      page.addSpan(run, name, dur_ns / 1000);
      if (step !== null) page.addSpan(step, name, dur_ns / 1000);
    }
  }

  #namesOf({ number, command }: CommandName): StepNames {
    let names = this.#stepNames[number];
    if (!names) {
      names = {
        run: commandStep(command, 'run'),
        queue: commandStep(command, 'queue'),
        total: commandStep(command, 'total'),
      };
      this.#stepNames[number] = names;
    }
    return names;
  }

  #stepOf({ id }: JournalEntry): string | null {
    const step = this.#steps.find(id);
    if (step === null) return null;
    if (step !== this.#step) {
      this.#step = step;
      this.#stepName = pipelineStep(step.pipeline, step.stepId);
    }
    return this.#stepName;
  }

  #spansOf(entry: JournalEntry): readonly { readonly name: string; readonly dur_ns: number }[] {
    const body = this.#attempts.findBody(entry);
    const spans = body && bodyPart(body, 'spans');
    return spans ? unpack(spans) : [];
  }

  #pageOf(minute: number, plugin: string, batch: Batch<IndexTable>): Page {
    let open = this.#pages.get(plugin);
    if (open?.minute !== minute) {
      if (open) writePage(open, batch);
      const key = pageKey(minute, plugin);
      open = { minute, key, page: new Page(this.#shelf.index.get('stopwatch', key)), isDirty: true };
      this.#pages.set(plugin, open);
    }
    open.isDirty = true;
    return open.page;
  }

  /** A new minute: the ones before are closed, and those that are too old are dropped. */
  #turnTo(minute: number, batch: Batch<IndexTable>): void {
    if (minute <= this.#newest) return;
    this.#newest = minute;
    for (const [plugin, open] of this.#pages) if (open.minute < minute) this.#pages.delete(plugin);
    const to = pageKey(Math.max(0, minute - minutesKept), '');
    for (const { key } of this.#shelf.index.scan('stopwatch', { to, limit: pagesPerPrune })) {
      batch.remove('stopwatch', Buffer.from(key));
    }
  }
}

function writePage(open: OpenPage, batch: Batch<IndexTable>): void {
  if (open.isDirty) batch.put('stopwatch', open.key, open.page.encode());
  open.isDirty = false;
}
