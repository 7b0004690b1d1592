// Open files that the host inherited by accident: from the store's library, or from the program that started the service. Node's own
// are not inherited.
import { closeSync, fstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A flag in /proc: the file is closed when another program is executed. */
const closeOnExec = 0o2000000;

/**
 * Closes these files. Otherwise programs would inherit them, even in a sandbox, and could read and write the ledger. Files up to `last`
 * stay open. Must be called before this process opens a file. Without /proc (macOS) it does nothing.
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
    // Another thread has closed it in the meantime.
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

/** Node changes the flags of low descriptors at its start, but the descriptors that Node opens itself are not files. */
function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    if (flags === undefined) return false;
    if ((Number.parseInt(flags, 8) & closeOnExec) === 0) return true;
    // The C library opens files in /proc in any thread at any time.
    return fstatSync(descriptor).isFile() && !readlinkSync(`/proc/self/fd/${descriptor}`).startsWith('/proc/');
  } catch {
    // The descriptor of the directory listing itself, closed by now.
    return false;
  }
}
