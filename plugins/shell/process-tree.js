// Kills a program and all its descendants.
import fs from 'node:fs';

/**
 * Each process is stopped before its children are listed, so that it starts no further ones. Without /proc, only the program itself is killed.
 * @param {number | undefined} pid undefined: the program never started
 */
export function killTree(pid) {
  if (pid === undefined || !signal(pid, 'SIGSTOP')) return;
  for (const child of childrenOf(pid)) killTree(child);
  signal(pid, 'SIGKILL');
}

/** @param {number} pid @param {NodeJS.Signals} name */
function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** @param {number} pid @returns {number[]} */
function childrenOf(pid) {
  try {
    const threads = fs.readdirSync(`/proc/${pid}/task`);
    return threads.flatMap(thread => {
      const text = fs.readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1');
      return text.split(' ').filter(Boolean).map(Number);
    });
  } catch {
    return [];
  }
}
