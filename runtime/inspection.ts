// Keeps other processes of the same user from reading this one: its environment, its memory, its open files, and by a debugger.
import { systemCall } from './system-library.ts';

/** Of Linux, on every processor. */
const PR_SET_DUMPABLE = 4;

/**
 * From now on they are root's alone, and no core is dumped. It holds for all threads, and not for the programs that this process
 * starts. Rejects where the system refuses. Does nothing outside Linux.
 */
export async function forbidInspection(): Promise<void> {
  if (process.platform !== 'linux') return;
  const prctl = systemCall('int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)');
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
