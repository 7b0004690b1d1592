// Prevents other processes of the same user from reading this one: its environment, memory and open files, or with a debugger.
import { systemCall } from './system-library.ts';

/** A constant of Linux, the same on every architecture. */
const PR_SET_DUMPABLE = 4;

/**
 * Restricts access to root and disables core dumps. Applies to all threads, but not to programs that this process starts. Rejects if
 * the system refuses; does nothing outside Linux.
 */
export async function forbidInspection(): Promise<void> {
  if (process.platform !== 'linux') return;
  const prctl = systemCall('int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)');
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
