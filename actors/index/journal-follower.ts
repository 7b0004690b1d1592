// Passes the entries of the journal to consumers. The position of a consumer is committed together with the consumer's derived data.
import {
  entriesOf,
  type JournalEntry,
  type JournalPosition,
  readPruneMark,
  readUs,
  usKey,
} from '../job/records/journal.ts';
import type { IndexStores, JournalConsumer } from './consumer.ts';
import { positionBytes, positionOf } from './records/position.ts';

/** A read of the journal stops after the commit that brings the number of entries to at least this many. */
const entriesPerStep = 8192;

type JournalSlice = {
  readonly from: JournalPosition;
  readonly entries: readonly JournalEntry[];
  readonly end: JournalPosition;
};

/**
 * The laps of a consumer. In a lap, its `prune` is called until `prune` returns false: then the consumer has checked all its data once. A lap
 * can miss attempts that retention prunes during the lap. So another lap follows if the prune mark (job/records/journal.ts) has changed.
 */
type Laps = {
  /** The number of the prune mark when the lap began. Null: no lap is under way. */
  began: number | null;
  /** The number of the prune mark when the last complete lap began; -1: there was none. */
  done: number;
};

export class JournalFollower {
  readonly #stores: IndexStores;
  readonly #positions: Map<JournalConsumer, JournalPosition>;
  readonly #laps: ReadonlyMap<JournalConsumer, Laps>;

  constructor(stores: IndexStores, consumers: readonly JournalConsumer[]) {
    this.#stores = stores;
    this.#positions = new Map(consumers.map(consumer => [consumer, positionOf(stores.index, consumer.name)]));
    this.#laps = new Map(consumers.map(consumer => [consumer, { began: null, done: -1 }]));
  }

  /** How many µs lie between the position of the slowest consumer and this time. */
  behindUs(upToUs: number): number {
    return upToUs - Math.min(...[...this.#positions.values()].map(({ atUs }) => atUs));
  }

  /** Processes some of the attempts that ended at this time or earlier. True: there may be more of them. */
  take(upToUs: number): boolean {
    const { ledger, index } = this.#stores;
    if ([...this.#positions.values()].every(({ atUs }) => atUs > upToUs)) return false;
    ledger.refresh();
    index.refresh();
    const batch = index.batch();
    const moved = new Map<JournalConsumer, JournalPosition>();
    let slice: JournalSlice | null = null;
    for (const [consumer, from] of this.#positions) {
      if (from.atUs > upToUs) continue;
      if (slice?.from.atUs !== from.atUs || slice.from.place !== from.place) slice = this.#read(from, upToUs);
      const { entries }: JournalSlice = slice;
      const taken = entries.length === 0 ? 0 : consumer.take(entries, batch);
      const next = entries[taken];
      // The next consumers at the same position get only the entries that this consumer has processed. So they do not
      // get ahead of it, and the entries are read only once.
      if (next) slice = { from, entries: entries.slice(0, taken), end: { atUs: next.atUs, place: next.place } };
      moved.set(consumer, slice.end);
      batch.put('positions', Buffer.from(consumer.name), positionBytes(slice.end));
    }
    index.commit(batch);
    for (const [consumer, position] of moved) this.#positions.set(consumer, position);
    return true;
  }

  /**
   * Removes some derived data of attempts that retention has pruned. True: a consumer's lap is under way. False: no lap is under way; a later
   * call begins one if retention has pruned more.
   */
  prune(): boolean {
    const { ledger, index } = this.#stores;
    ledger.refresh();
    index.refresh();
    const { number, upToUs } = readPruneMark(ledger);
    const batch = index.batch();
    let more = false;
    for (const [consumer, laps] of this.#laps) {
      if (laps.done === number) continue;
      laps.began ??= number;
      if (consumer.prune?.(upToUs, batch)) more = true;
      else {
        laps.done = laps.began;
        laps.began = null;
      }
    }
    if (batch.size > 0) index.commit(batch);
    return more;
  }

  #read(from: JournalPosition, upToUs: number): JournalSlice {
    const entries: JournalEntry[] = [];
    let end = { atUs: upToUs + 1, place: 0 };
    const range = { from: usKey(from.atUs), to: usKey(upToUs + 1) };
    for (const { key, value } of this.#stores.ledger.scan('journal', range)) {
      const atUs = readUs(key);
      for (const entry of entriesOf(atUs, value)) {
        if (atUs > from.atUs || entry.place >= from.place) entries.push(entry);
      }
      if (entries.length < entriesPerStep) continue;
      end = { atUs: atUs + 1, place: 0 };
      break;
    }
    return { from, entries, end };
  }
}
