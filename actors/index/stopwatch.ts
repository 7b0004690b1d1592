// The stopwatch's side of the journal: how long each attempt waited and ran goes into the histograms of its minute.
import { bodyPart } from '../../runtime/host/outcome.ts';
import { unpack } from '../../runtime/packing.ts';
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import { AttemptShelf, type JournalEntry } from '../job/journal.ts';
import { Names } from '../job/names.ts';
import { pipelinePlugin } from '../job/protocol.ts';
import { Steps } from '../job/view.ts';
import type { JournalConsumer, Shelf } from './consumer.ts';
import { commandStep, minutesKept, minuteUs, Page, pageKey, pipelineStep } from './stopwatch-record.ts';

/** Old pages that are dropped at once. */
const pagesPerPrune = 1_000;

export function stopwatchConsumer(shelf: Shelf): JournalConsumer {
  const book = new Stopwatch(shelf);
  return { name: 'stopwatch', take: (entries, batch) => book.take(entries, batch) };
}

type OpenPage = { readonly minute: number; readonly key: Buffer; readonly page: Page; isDirty: boolean };

class Stopwatch {
  readonly #shelf: Shelf;
  readonly #attempts: AttemptShelf;
  readonly #names: Names;
  readonly #steps: Steps;
  /** Pages of the newest minutes, by their keys. */
  readonly #pages = new Map<string, OpenPage>();
  #newest = 0;

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
    this.#attempts = new AttemptShelf(shelf.ledger);
    this.#names = new Names(shelf.ledger);
    this.#steps = new Steps(shelf.ledger);
  }

  take(entries: readonly JournalEntry[], batch: Batch<IndexTable>): number {
    const { commands } = this.#names;
    for (const entry of entries) {
      const { plugin, command } = commands[entry.commandNumber]!;
      // Runs are measured by their callers, and a job that never ran has no times.
      if (plugin !== pipelinePlugin && entry.attempt > 0) this.#record(entry, plugin, command);
    }
    for (const open of this.#pages.values()) {
      if (open.isDirty) batch.put('stopwatch', open.key, open.page.encode());
      open.isDirty = false;
    }
    this.#turnTo(Math.floor(entries.at(-1)!.atUs / minuteUs), batch);
    return entries.length;
  }

  #record(entry: JournalEntry, plugin: string, command: string): void {
    const page = this.#pageOf(Math.floor(entry.atUs / minuteUs), plugin);
    const { queuedUs, ranUs } = entry;
    const run = commandStep(command, 'run');
    page.add(run, ranUs);
    if (entry.attempt === 1) page.add(commandStep(command, 'queue'), queuedUs);
    if (entry.final) page.add(commandStep(command, 'total'), queuedUs + ranUs);
    const step = entry.stepped ? this.#stepOf(entry) : null;
    if (step !== null) page.add(step, ranUs);
    if (!entry.spanned) return;
    for (const { name, dur_ns } of this.#spansOf(entry)) {
      page.addSpan(run, name, dur_ns / 1000);
      if (step !== null) page.addSpan(step, name, dur_ns / 1000);
    }
  }

  #stepOf({ id }: JournalEntry): string | null {
    const step = this.#steps.find(id);
    return step && pipelineStep(step.pipeline, step.stepId);
  }

  #spansOf(entry: JournalEntry): readonly { readonly name: string; readonly dur_ns: number }[] {
    const attempt = this.#attempts.find(entry);
    const spans = attempt && bodyPart(attempt.body, 'spans');
    return spans ? unpack(spans) : [];
  }

  #pageOf(minute: number, plugin: string): Page {
    const name = `${minute} ${plugin}`;
    let open = this.#pages.get(name);
    if (!open) {
      const key = pageKey(minute, plugin);
      open = { minute, key, page: new Page(this.#shelf.index.get('stopwatch', key)), isDirty: true };
      this.#pages.set(name, open);
    }
    open.isDirty = true;
    return open.page;
  }

  /** A new minute: the ones before are closed, and those that are too old are dropped. */
  #turnTo(minute: number, batch: Batch<IndexTable>): void {
    if (minute <= this.#newest) return;
    this.#newest = minute;
    for (const [name, open] of this.#pages) if (open.minute < minute) this.#pages.delete(name);
    const to = pageKey(Math.max(0, minute - minutesKept), '');
    for (const { key } of this.#shelf.index.scan('stopwatch', { to, limit: pagesPerPrune })) {
      batch.remove('stopwatch', Buffer.from(key));
    }
  }
}
