// Files that are written without waiting for the disk outlive the process, but not the system. So a mark beside them names the boot
// they were written in, from before the first write until they are synced: with the mark of another boot they may be torn.
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../durable-file.ts';

const markName = 'boot';

/** Whether the system may have gone down before all was on disk that was written in this directory. */
export function mayBeTorn(directory: string, boot: string | null): boolean {
  try {
    return readFileSync(join(directory, markName), 'latin1') !== boot;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** The mark is on disk when it returns. */
export function markBoot(directory: string, boot: string): void {
  replaceFile(join(directory, markName), Buffer.from(boot), 0o600);
}

/** The file is on disk when it returns, and the mark gone. When the disk fails, the directory is removed: who knows what is there. */
export function syncAndUnmark(directory: string, fileName: string): void {
  try {
    const file = openSync(join(directory, fileName), 'r+');
    try {
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    rmSync(join(directory, markName));
  } catch {
    rmSync(directory, { recursive: true, force: true });
  }
}
