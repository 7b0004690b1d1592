// Open files that a host has got from the service unasked: Node keeps its own to itself, the store's library and whoever started us do not.
import { closeSync, fstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Of the flags in /proc: it goes with the next program that is started. */
const closeOnExec = 0o2000000;

/**
 * Closes them: a program, also one in a sandbox, would get them in turn, and could read and write the ledger. Those up to
 * `last` stay. To be called before this process opens anything. Nothing is inherited where there is no /proc (macOS).
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
    // Another thread of this process had opened it, and has closed it meanwhile.
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

/** Of low numbers Node has changed the flags at its start; what it opens there for itself is no file. */
function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    if (flags === undefined) return false;
    if ((Number.parseInt(flags, 8) & closeOnExec) === 0) return true;
    // The C library reads about the system's memory there, in any thread and at any time.
    return fstatSync(descriptor).isFile() && !readlinkSync(`/proc/self/fd/${descriptor}`).startsWith('/proc/');
  } catch {
    // It was open for the look itself.
    return false;
  }
}
