// The format of the state that this version writes, and the formats that it reads.
import { type Reader, StoreFault } from './store.ts';

/** The state format that this version writes. */
export const formatVersion = 11;
/**
 * The state formats that this version reads. In a state of format 9 or 10, which has no commit log, new tables are empty and new fields are
 * absent; the first start completes some records (actors/pipeline/recount.ts).
 */
export const formatsRead: readonly number[] = [9, 10, formatVersion];
/** These formats as text, such as `1, 2 and 3`. */
export const formatsReadText = `${formatsRead.slice(0, -1).join(', ')} and ${formatsRead.at(-1)}`;

export const formatKey = Buffer.from('format');

/** The message for a state whose format this version does not read: what is wrong, and what to do. */
export function wrongFormat(path: string, format: number): string {
  const found = `${path} was written in state format ${format}; this version reads ${formatsReadText}`;
  return format > formatVersion
    ? `${found}: start the newer version that wrote it, or set state.path to a copy from before the upgrade`
    : `${found}: start it once with a version that reads ${format} and ${formatsRead[0]}, then with this one`;
}

/** The format that a ledger records. Null: the ledger was never opened for writing. */
export function formatIn(reader: Pick<Reader, 'get'>): number | null {
  return reader.get('meta', formatKey)?.[0] ?? null;
}

/** Throws StoreFault if this version does not read the format. */
export function assertReadable(path: string, format: number | null): void {
  if (format !== null && !formatsRead.includes(format)) throw new StoreFault(wrongFormat(path, format));
}
