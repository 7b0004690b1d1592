// A stopwatch over stores in memory, without threads: attempts end in it, and its steps are read.
import type { IndexStores } from '../../../actors/index/consumer.ts';
import { minuteUs } from '../../../actors/index/records/stopwatch.ts';
import { Stopwatch } from '../../../actors/index/stopwatch.ts';
import {
  type ReadingScope,
  type StepTimes,
  StopwatchReading,
  windowOf,
} from '../../../actors/index/views/stopwatch.ts';
import { writeHoldEnd } from '../../../actors/job/records/hold-ends.ts';
import { entriesOf, JournalPage } from '../../../actors/job/records/journal.ts';
import { NameTableWriter } from '../../../actors/job/records/name-table.ts';
import { emptyBody } from '../../../runtime/host/wire/outcome.ts';
import { blockOf } from '../../../runtime/ids.ts';
import { openMemoryIndex, openMemoryStore } from '../../support/memory-store.ts';

/** The beginning of a minute. */
export const start = 30_000_000 * minuteUs;

export type Ending = {
  readonly atUs: number;
  readonly queuedUs?: number;
  readonly ranUs: number;
  readonly attempt?: number;
  readonly final?: boolean;
  readonly id?: Uint8Array;
};

/** Stores, with functions that end attempts of `echo.handle` in them. */
export function stage() {
  const ledger = openMemoryStore();
  const index = openMemoryIndex();
  const stores: IndexStores = { ledger, index };
  const book = new NameTableWriter(ledger);
  const number = book.command('echo', 'handle');
  const names = ledger.batch();
  book.close(names);
  ledger.commit(names);
  let consumer = new Stopwatch(stores);
  /** Ends these attempts; the stopwatch takes all of them at once. */
  const endAll = (endings: readonly Ending[]) => {
    const entries = endings.flatMap(
      ({ atUs, queuedUs = 0, ranUs, attempt = 1, final = true, id = Buffer.alloc(16) }) => {
        const page = new JournalPage();
        const startedUs = atUs - ranUs;
        const record = { status: 'succeeded', final, startedUs, completedUs: atUs, body: emptyBody } as const;
        page.add(id, attempt, { createdUs: startedUs - queuedUs, inStep: false }, record, number, 0);
        return entriesOf(atUs, page.take());
      },
    );
    const batch = index.batch();
    consumer.take(entries, batch);
    index.commit(batch);
  };
  const end = (atUs: number, queuedUs: number, ranUs: number, attempt = 1, final = true) =>
    endAll([{ atUs, queuedUs, ranUs, attempt, final }]);
  /** The indexer is restarted. */
  const again = () => {
    consumer = new Stopwatch(stores);
  };
  const freed = (atUs: number, plugin: string, command: string) => {
    const batch = ledger.batch();
    writeHoldEnd(ledger, batch, { atUs, plugin, command });
    ledger.commit(batch);
  };
  /** From now on the ledger has these jobs. */
  const store = (ids: readonly Uint8Array[]) => {
    const batch = ledger.batch();
    for (const id of ids) batch.put('blocks', Buffer.from(blockOf(id)), Buffer.of(0));
    ledger.commit(batch);
  };
  return { ledger, index, end, endAll, again, freed, store };
}

export function read(
  index: IndexStores['index'],
  fromUs: number,
  nowUs: number,
  scope: ReadingScope = {},
): ReadonlyMap<string, StepTimes> {
  const reading = new StopwatchReading(index, 'echo', windowOf(fromUs, nowUs), scope);
  while (!reading.read(1)) {}
  return reading.steps;
}
