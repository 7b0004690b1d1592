// The formats of the state: which one this version writes, and which it reads.

import type { Reader } from './store.ts';

/** The state format that this version writes. */
export const formatVersion = 10;
/** The state formats that this version reads. The previous one needs no conversion: new tables are empty and new fields are absent. */
export const formatsRead: readonly number[] = [9, formatVersion];

/** What is wrong with a state of a format that this version does not read, and what to do. */
export function wrongFormat(path: string, format: number): string {
  const found = `${path} was written in state format ${format}; this version reads ${formatsRead.join(' and ')}`;
  return format > formatVersion
    ? `${found}: start the newer version that wrote it, or set state.path to a copy from before the upgrade`
    : `${found}: start it once with a version that reads ${format} and ${formatsRead[0]}, then with this one`;
}

/** The format in which a ledger was last opened for writing. Null: it was never opened. */
export function formatIn(reader: Pick<Reader, 'get'>): number | null {
  return reader.get('meta', Buffer.from('format'))?.[0] ?? null;
}
