// The processes that a process has started, and what everybody on the machine can read of them.
import { readdirSync, readFileSync } from 'node:fs';

/** Started by any thread of this one. */
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

/** Its command line, and those of all that descend from it with their environments. Its own environment is its owner's. */
export function shownBy(pid: number): Shown[] {
  return [{ place: 'the command line of the service', bytes: read(pid, 'cmdline') }, ...shownByChildren(pid)];
}

function shownByChildren(pid: number): Shown[] {
  const own = read(pid, 'cmdline');
  return childrenOf(pid).flatMap(child => {
    const line = read(child, 'cmdline');
    // Until a child has become another program it shows what its parent has.
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

/** Empty: it is gone. The environment of a host is root's alone: where another user runs the tests, they say once that they skip it. */
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
