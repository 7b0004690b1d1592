// Closes files that the host inherited by accident: files that the store's library opened in the service, or that were open in the
// program that started the service. Files that Node itself has opened are not inherited.
import { closeSync, fstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A flag that /proc shows: the file is closed when the process executes another program. */
const closeOnExec = 0o2000000;

/**
 * Closes all inherited files with descriptors above `last`. Otherwise programs would inherit these files, even in a sandbox, and could read
 * and write the ledger. Must be called before this process opens a file. Without /proc (macOS), no file is closed.
 */
export function closeInherited(last: number): void {
  for (const name of descriptors()) {
    const descriptor = Number(name);
    if (descriptor > last && isInherited(descriptor)) close(descriptor);
  }
}

function close(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch (error) {
    // Another thread has closed the file in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'EBADF') throw error;
  }
}

function descriptors(): string[] {
  try {
    return readdirSync('/proc/self/fd');
  } catch {
    return [];
  }
}

/**
 * Whether the host inherited this descriptor. On startup, Node sets `closeOnExec` on low descriptors, even on inherited ones.
 * So a regular file counts as inherited even with this flag: Node itself has opened no regular file by now.
 */
function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    if (flags === undefined) return false;
    if ((Number.parseInt(flags, 8) & closeOnExec) === 0) return true;
    // A file in /proc does not count as inherited: another thread may just have opened such a file, inside the C library.
    return fstatSync(descriptor).isFile() && !readlinkSync(`/proc/self/fd/${descriptor}`).startsWith('/proc/');
  } catch {
    // This is the descriptor of the directory listing itself, which is closed by now.
    return false;
  }
}
