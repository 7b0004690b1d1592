// The position of a consumer in the journal.
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { asBuffer, type JournalPosition, readUs, usKey } from '../../job/records/journal.ts';

/** The position from which the consumer continues. The consumer has processed all entries before this position, and no others. */
export function positionOf(index: Pick<Reader<IndexTable>, 'get'>, consumer: string): JournalPosition {
  const value = index.get('positions', Buffer.from(consumer));
  if (!value) return { atUs: 0, place: 0 };
  return { atUs: readUs(value), place: asBuffer(value).readUInt32BE(8) };
}

export function positionRecord({ atUs, place }: JournalPosition): Buffer {
  const record = Buffer.alloc(12);
  record.set(usKey(atUs), 0);
  record.writeUInt32BE(place, 8);
  return record;
}
