// The record of the newest turn in the ledger: the number of the turn, and when it was appended to the commit log. The commit of each turn
// writes this record.
import type { Lsn } from '../commit-log/part.ts';
import type { Reader } from './store.ts';

export const appliedKey = Buffer.from('applied');
const timeAt = 8;
const bytesOf = 16;

export type Applied = {
  readonly lsn: Lsn;
  /** In µs since the Unix epoch. Null: the record, which an earlier version wrote, has only the number. */
  readonly atUs: number | null;
};

/** Null: the ledger has no turn that was appended to a commit log. */
export function appliedIn(reader: Pick<Reader, 'get'>): Applied | null {
  const known = reader.get('meta', appliedKey);
  if (known === undefined) return null;
  const bytes = Buffer.from(known);
  const hasTime = bytes.length >= bytesOf;
  return { lsn: Number(bytes.readBigUInt64BE()), atUs: hasTime ? Number(bytes.readBigUInt64BE(timeAt)) : null };
}

export function encodeApplied(lsn: Lsn, atUs: number): Buffer {
  const bytes = Buffer.alloc(bytesOf);
  bytes.writeBigUInt64BE(BigInt(lsn));
  bytes.writeBigUInt64BE(BigInt(atUs), timeAt);
  return bytes;
}
