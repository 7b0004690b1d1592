// Encodes and reads the file of the checkpoint. The file has the root pages of the ledger as of a turn whose pages are all on disk, and the
// place of the next turn in the log.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreFault } from '../store/store.ts';
import { crc32c } from './checksum.ts';
import type { LogStart } from './log-reader.ts';

export type Checkpoint = LogStart & {
  /** Whether a clean stop made the checkpoint. If so, no turn follows it, in the ledger or in the log. */
  readonly isClean: boolean;
  /** The format of the state. */
  readonly format: number;
  /** Whether the segments of the log are kept until they are archived. Absent: an earlier version wrote the checkpoint. */
  readonly keeps?: boolean;
  /** The root pages of the ledger, one after the other. */
  readonly roots: Buffer;
};

const title = 'headgate-checkpoint/1 ';
const checksumDigits = 8;
const headBytes = title.length + checksumDigits + 1;

export function checkpointPath(logDirectory: string): string {
  return join(logDirectory, 'checkpoint');
}

export function encodeCheckpoint({ roots, ...fields }: Checkpoint): Buffer {
  const body = Buffer.concat([Buffer.from(`${JSON.stringify(fields)}\n`), roots]);
  const checksum = crc32c(body).toString(16).padStart(checksumDigits, '0');
  return Buffer.concat([Buffer.from(`${title}${checksum}\n`), body]);
}

/** The newest checkpoint; null if there is none. Throws StoreFault if its file is damaged. */
export function readCheckpoint(logDirectory: string): Checkpoint | null {
  const path = checkpointPath(logDirectory);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const head = bytes.subarray(0, headBytes).toString('latin1');
  // The copy begins at an aligned address, on which the checksum is fastest.
  const body = Buffer.alloc(Math.max(0, bytes.length - headBytes));
  bytes.copy(body, 0, headBytes);
  const end = body.indexOf('\n');
  const checksum = crc32c(body).toString(16).padStart(checksumDigits, '0');
  if (end < 0 || head !== `${title}${checksum}\n`)
    throw new StoreFault(
      `${path} is damaged: its checksum is wrong; restore the whole directory from a backup, or move it away to start with an empty state`,
    );
  return { ...JSON.parse(body.subarray(0, end).toString()), roots: body.subarray(end + 1) };
}
