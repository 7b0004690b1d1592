// Prevents plugin code from using `process.kill` on other processes of the same user, such as the service.
import { constants } from 'node:os';
import { statOf } from '../../processes/identity.ts';

/**
 * Makes `process.kill` fail for every process except the host and, on Linux, its descendants, as if the process belonged to another user.
 */
export function guardKill(): void {
  const kill = process.kill.bind(process);
  process.kill = (pid, signal) => {
    const target = Math.abs(pid);
    if (!isOurs(target)) throw refusal(`process ${pid} is not a child of this plugin`);
    // A plugin may kill the host, because another process then replaces it. But a stopped host would block everything that it runs.
    if (isHost(target) && (signal === 'SIGSTOP' || signal === constants.signals.SIGSTOP))
      throw refusal('a plugin must not stop the process that it shares with other plugins');
    return kill(pid, signal);
  };
}

function refusal(why: string): Error {
  return Object.assign(new Error(`kill EPERM: ${why}`), { code: 'EPERM', syscall: 'kill' });
}

/** Whether `pid` means the host or its process group. For `kill`, 0 means the group of the calling process. */
function isHost(pid: number): boolean {
  return pid === 0 || pid === process.pid;
}

function isOurs(pid: number): boolean {
  if (isHost(pid)) return true;
  for (let at = pid; at > 1; at = Number(statOf(at)?.[1] ?? 0)) if (at === process.pid) return true;
  return false;
}
