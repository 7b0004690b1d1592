// The processes that a process has started, and what everybody on the machine can read of them.
import { readdirSync, readFileSync } from 'node:fs';

/** The pids of the direct children of a process, whichever of its threads started them. */
export function childrenOf(pid: number): number[] {
  return tasksOf(pid).flatMap(task => {
    const children = read(pid, `task/${task}/children`).toString();
    return children.split(' ').filter(Boolean).map(Number);
  });
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

export type Shown = { readonly place: string; readonly bytes: Buffer };

/** The command lines of a process and of all its descendants, and the environments of the descendants. */
export function shownBy(pid: number): Shown[] {
  return [{ place: 'the command line of the service', bytes: read(pid, 'cmdline') }, ...shownByChildren(pid)];
}

function shownByChildren(pid: number): Shown[] {
  const own = read(pid, 'cmdline');
  return childrenOf(pid).flatMap(child => {
    const line = read(child, 'cmdline');
    // Between fork and exec, a child shows the command line and the environment of its parent.
    const isProgram = line.length > 0 && !line.equals(own);
    const shown = isProgram
      ? [
          { place: 'the command line of a child', bytes: line },
          { place: 'the environment of a child', bytes: read(child, 'environ') },
        ]
      : [];
    return [...shown, ...shownByChildren(child)];
  });
}

let hasSaid = false;

/** Empty if the process is gone. Only root may read the environment of a host: for other users, a message says once that it is skipped. */
function read(pid: number, name: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/${name}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES' && !hasSaid) {
      hasSaid = true;
      process.stderr.write('SKIPPED: the environments of hosts are not swept for secrets; run the tests as root\n');
    }
    return Buffer.alloc(0);
  }
}
