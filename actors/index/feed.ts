// Feeds the journal to its consumers, and keeps for each how far it has come, in the commit that holds what it made of the entries.
import { entriesOf, type JournalEntry, readPruneMark, readUs, usKey } from '../job/records/journal.ts';
import type { JournalConsumer, Shelf } from './consumer.ts';
import { type Position, positionOf, positionRecord } from './records/position.ts';

/** Entries that are handed over at once, unless one commit has more. */
const entriesPerStep = 8192;

/** The entries between two positions. */
type Stretch = { readonly from: Position; readonly entries: readonly JournalEntry[]; readonly end: Position };

export class Feed {
  readonly #shelf: Shelf;
  readonly #positions: Map<JournalConsumer, Position>;
  #pruned = -1;

  constructor(shelf: Shelf, consumers: readonly JournalConsumer[]) {
    this.#shelf = shelf;
    this.#positions = new Map(consumers.map(consumer => [consumer, positionOf(shelf.index, consumer.name)]));
  }

  /** How much of the time up to this one is still to be taken. */
  behindUs(upToUs: number): number {
    return upToUs - Math.min(...[...this.#positions.values()].map(({ atUs }) => atUs));
  }

  /** Takes some of what ended up to this time. True while there is more. */
  take(upToUs: number): boolean {
    const { ledger, index } = this.#shelf;
    if ([...this.#positions.values()].every(({ atUs }) => atUs > upToUs)) return false;
    ledger.refresh();
    index.refresh();
    const batch = index.batch();
    const moved = new Map<JournalConsumer, Position>();
    let stretch: Stretch | null = null;
    for (const [consumer, from] of this.#positions) {
      if (from.atUs > upToUs) continue;
      if (stretch === null || !isSame(stretch.from, from)) stretch = this.#read(from, upToUs);
      const { entries }: Stretch = stretch;
      const taken = entries.length === 0 ? 0 : consumer.take(entries, batch);
      const next = entries[taken];
      // Nor do the others take more: so all stay equally far, and what is read is read for all.
      if (next) stretch = { from, entries: entries.slice(0, taken), end: { atUs: next.atUs, place: next.place } };
      moved.set(consumer, stretch.end);
      batch.put('positions', Buffer.from(consumer.name), positionRecord(stretch.end));
    }
    index.commit(batch);
    for (const [consumer, position] of moved) this.#positions.set(consumer, position);
    return true;
  }

  /** Lets consumers forget some of what was pruned since the last time. True while there is more. */
  prune(): boolean {
    const { ledger, index } = this.#shelf;
    ledger.refresh();
    index.refresh();
    const pruned = readPruneMark(ledger);
    if (pruned.number === this.#pruned) return false;
    const batch = index.batch();
    let more = false;
    for (const consumer of this.#positions.keys()) more = consumer.prune?.(pruned.upToUs, batch) || more;
    if (batch.size > 0) index.commit(batch);
    if (!more) this.#pruned = pruned.number;
    return more;
  }

  #read(from: Position, upToUs: number): Stretch {
    const entries: JournalEntry[] = [];
    let end = { atUs: upToUs + 1, place: 0 };
    const range = { from: usKey(from.atUs), to: usKey(upToUs + 1) };
    for (const { key, value } of this.#shelf.ledger.scan('journal', range)) {
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

function isSame(a: Position, b: Position): boolean {
  return a.atUs === b.atUs && a.place === b.place;
}
