// Positions in the journal: where a consumer continues, and the entry at a position.
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import {
  asBuffer,
  entryAt,
  type JournalEntry,
  type JournalPosition,
  readUs,
  usKey,
} from '../../job/records/journal.ts';

/** The position from which the consumer continues. The consumer has processed all entries before this position, and no others. */
export function positionOf(index: Pick<Reader<IndexTable>, 'get'>, consumer: string): JournalPosition {
  const value = index.get('positions', Buffer.from(consumer));
  if (!value) return { atUs: 0, place: 0 };
  return { atUs: readUs(value), place: asBuffer(value).readUInt32BE(8) };
}

/** A position as bytes that sort in the order of the journal. */
export function positionBytes({ atUs, place }: JournalPosition): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.set(usKey(atUs), 0);
  bytes.writeUInt32BE(place, 8);
  return bytes;
}

/**
 * Returns a function that finds the entry at a position. Undefined: the entry was pruned. The last commit is cached, because neighbouring
 * positions often share one.
 */
export function entryFinder(ledger: Reader): (position: JournalPosition) => JournalEntry | undefined {
  let commitUs = -1;
  let commit: Uint8Array | undefined;
  return ({ atUs, place }) => {
    if (atUs !== commitUs) commit = ledger.get('journal', usKey(atUs));
    commitUs = atUs;
    return commit && entryAt(atUs, place, commit);
  };
}
