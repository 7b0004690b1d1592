// The processes that a process has started, and what everybody on the machine can read of them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Started by any thread of this one. */
export function childrenOf(pid: number): number[] {
  const tasks = existsSync(`/proc/${pid}/task`) ? readdirSync(`/proc/${pid}/task`) : [];
  return tasks.flatMap(task => read(pid, `task/${task}/children`).toString().split(' ').filter(Boolean).map(Number));
}

export type Shown = { readonly place: string; readonly bytes: Buffer };

/** Command lines and environments of all that descend from this one. */
export function shownByDescendants(pid: number): Shown[] {
  const own = read(pid, 'cmdline');
  return childrenOf(pid).flatMap(child => {
    const line = read(child, 'cmdline');
    // Until a child has become another program it shows what its parent has.
    const isProgram = line.length > 0 && !line.equals(own);
    const shown = isProgram
      ? [
          { place: `the command line of a child`, bytes: line },
          { place: `the environment of a child`, bytes: read(child, 'environ') },
        ]
      : [];
    return [...shown, ...shownByDescendants(child)];
  });
}

/** Empty: it is gone. */
function read(pid: number, name: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/${name}`);
  } catch {
    return Buffer.alloc(0);
  }
}
