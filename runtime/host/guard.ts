// Keeps plugin code from signalling processes that are not its own: the service, say, which runs as the same user.
import { readFileSync } from 'node:fs';

/** Refuses `process.kill` for all but this process and its descendants, as the system refuses a stranger's. */
export function guardKill(): void {
  const kill = process.kill.bind(process);
  process.kill = (pid, signal) => {
    if (!isOurs(Math.abs(pid))) {
      throw Object.assign(new Error(`kill EPERM: process ${pid} is not a child of this plugin`), {
        code: 'EPERM',
        syscall: 'kill',
      });
    }
    return kill(pid, signal);
  };
}

function isOurs(pid: number): boolean {
  // 0 is the group of this host.
  if (pid === 0) return true;
  for (let at: number | null = pid; at !== null && at > 1; at = parentOf(at)) if (at === process.pid) return true;
  return false;
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything: count fields from its end.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}
