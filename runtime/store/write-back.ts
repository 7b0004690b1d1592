// Writes the changed pages of a file to the disk in small steps, with pauses, and leaves little to write for the sync that follows. While a
// sync of many pages runs, it delays the syncs of all other files on the disk, and therefore every commit.
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCallAside } from '../system-library.ts';

/** Writes the changed pages in this part of the file, and resolves when the disk has taken them. */
export type WriteRange = (offset: number, bytes: number) => Promise<unknown>;

/** The length of a step, in bytes. If a file would then need more than `stepsMax` steps, its steps are longer. */
export const stepBytes = 2 ** 20;
export const stepsMax = 8_192;
/** A step that takes less time than this counts as having written nothing, and no pause follows it. */
const writtenMs = 0.5;
/** SYNC_FILE_RANGE_WAIT_BEFORE, SYNC_FILE_RANGE_WRITE and SYNC_FILE_RANGE_WAIT_AFTER. */
const writeAndWait = 1 | 2 | 4;

type Pace = { readonly nowMs: () => number; readonly pause: (ms: number) => Promise<unknown> };
const systemPace: Pace = { nowMs: () => performance.now(), pause: sleep };

let syncFileRange: ReturnType<typeof systemCallAside> | null = null;

/**
 * Returns a `WriteRange` for this file; null if the system does not offer it. Errors of the write are not reported. The kernel reports an
 * error of a write once for each descriptor, so the sync that follows must use another descriptor of the file.
 */
export function rangeWriter(descriptor: number): WriteRange | null {
  if (process.platform !== 'linux') return null;
  try {
    syncFileRange ??= systemCallAside(
      'int sync_file_range(int file, int64_t offset, int64_t bytes, unsigned int flags)',
    );
  } catch {
    // The C library lacks the function, or cannot be called. The sync alone is correct, too.
    return null;
  }
  const call = syncFileRange;
  return (offset, bytes) => call(descriptor, offset, bytes, writeAndWait);
}

/**
 * Writes a file of this size back, as long as `goesOn` returns true. After each step that wrote something, pauses for as long as the step
 * took, and leaves the disk to commits.
 */
export async function writeBack(
  fileBytes: number,
  write: WriteRange,
  goesOn: () => boolean,
  { nowMs, pause }: Pace = systemPace,
): Promise<void> {
  const bytes = Math.max(stepBytes, Math.ceil(fileBytes / stepsMax));
  for (let offset = 0; offset < fileBytes && goesOn(); offset += bytes) {
    const startMs = nowMs();
    await write(offset, bytes);
    const tookMs = nowMs() - startMs;
    if (tookMs >= writtenMs) await pause(tookMs);
  }
}
