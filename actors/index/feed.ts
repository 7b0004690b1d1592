// Feeds the journal to its consumers, and keeps for each how far it has come, in the commit that holds what it made of the entries.
import type { Batch, IndexTable } from '../../runtime/store/store.ts';
import { entriesOf, type JournalEntry, readPruned, readUs, usKey } from '../job/journal.ts';
import type { JournalConsumer, Shelf } from './consumer.ts';
import { type Position, positionOf, positionRecord } from './position.ts';

/** Entries that are handed over at once, unless one commit has more. */
const entriesPerStep = 8192;

export class Feed {
  readonly #shelf: Shelf;
  readonly #positions: Map<JournalConsumer, Position>;
  #pruned = -1;

  constructor(shelf: Shelf, consumers: readonly JournalConsumer[]) {
    this.#shelf = shelf;
    this.#positions = new Map(consumers.map(consumer => [consumer, positionOf(shelf.index, consumer.name)]));
  }

  /** Takes some of what ended up to this time. True while there is more. */
  take(upToUs: number): boolean {
    const { ledger, index } = this.#shelf;
    if ([...this.#positions.values()].every(({ atUs }) => atUs > upToUs)) return false;
    ledger.refresh();
    index.refresh();
    const batch = index.batch();
    const moved = new Map<JournalConsumer, Position>();
    for (const consumer of this.#positions.keys()) {
      const next = this.#feed(consumer, upToUs, batch);
      if (next) moved.set(consumer, next);
    }
    if (moved.size === 0) return false;
    index.commit(batch);
    for (const [consumer, position] of moved) this.#positions.set(consumer, position);
    return true;
  }

  /** Lets consumers forget some of what was pruned since the last time. True while there is more. */
  prune(): boolean {
    const { ledger, index } = this.#shelf;
    ledger.refresh();
    index.refresh();
    const pruned = readPruned(ledger);
    if (pruned.number === this.#pruned) return false;
    const batch = index.batch();
    let more = false;
    for (const consumer of this.#positions.keys()) more = consumer.prune?.(pruned.upToUs, batch) || more;
    if (batch.size > 0) index.commit(batch);
    if (!more) this.#pruned = pruned.number;
    return more;
  }

  #feed(consumer: JournalConsumer, upToUs: number, batch: Batch<IndexTable>): Position | null {
    const from = this.#positions.get(consumer)!;
    const entries = this.#entries(from, upToUs);
    let next: Position | null = null;
    if (entries.length > 0) {
      const taken = consumer.take(entries, batch);
      const after = entries[taken];
      const { atUs } = entries[taken - 1]!;
      next = after ? { atUs: after.atUs, place: after.place } : { atUs: atUs + 1, place: 0 };
    } else if (from.atUs <= upToUs) next = { atUs: upToUs + 1, place: 0 };
    if (next) batch.put('positions', Buffer.from(consumer.name), positionRecord(next));
    return next;
  }

  #entries(from: Position, upToUs: number): JournalEntry[] {
    const entries: JournalEntry[] = [];
    const range = { from: usKey(from.atUs), to: usKey(upToUs + 1) };
    for (const { key, value } of this.#shelf.ledger.scan('journal', range)) {
      const atUs = readUs(key);
      for (const entry of entriesOf(atUs, value)) {
        if (atUs > from.atUs || entry.place >= from.place) entries.push(entry);
      }
      if (entries.length >= entriesPerStep) break;
    }
    return entries;
  }
}
