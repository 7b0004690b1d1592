// Prevents other processes of the same user from reading this process's environment, memory and open files, and from debugging it.
import { systemCall } from './system-library.ts';

/** The option of `prctl` that sets whether a process is dumpable. Its number is the same on every architecture. */
const PR_SET_DUMPABLE = 4;

/**
 * From now on only root can inspect this process, and this process leaves no core dump. This applies to all threads of the process, but not
 * to programs that it starts. Rejects if the system refuses. Has no effect outside Linux.
 */
export async function forbidInspection(): Promise<void> {
  if (process.platform !== 'linux') return;
  const prctl = systemCall('int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)');
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
