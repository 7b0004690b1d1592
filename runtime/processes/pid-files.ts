// Pid files of hosts and their programs: the next start of the service kills processes that outlived the previous service.

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive, isHere, livingStat, type ProcessIdentity, processNumbers } from './identity.ts';
import { programsPart, readProgramPids } from './program-pids.ts';
import { killByOrigin } from './stray-processes.ts';

/** A process group's leader. */
type Mark = ProcessIdentity;

const pollMs = 5;
/** The maximum time from the start of a program until its pid is written. Meanwhile its number is not reused. */
const slackTicks = 100;

/** Hosts of this thread that watch their own processes. */
const living = new Set<string>();

/** The pid files of one host: its own process, and its programs. Each leads a process group. The directory belongs to one service. */
export class PidFiles {
  /** Distinguishes this host from one of the same name that is ending, or belonged to an earlier service. */
  readonly id = randomUUID();
  readonly #directory: string;
  readonly #name: string;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  /** Until `release`, other hosts leave these pid files alone. */
  claim(): void {
    living.add(this.id);
  }

  release(): void {
    living.delete(this.id);
  }

  put(pid: number): void {
    writeFileSync(this.#path(pid), JSON.stringify(identify(pid) satisfies Mark), { mode: 0o600 });
  }

  /** Kills every process group in the pid files of this host and of hosts that have ended. Resolves when none is left. */
  async killAll(warn: (message: string) => void = () => {}): Promise<void> {
    for (let round = 1; ; round++) {
      const left = this.#killOnce();
      if (left === 0) return;
      if (round % 1000 === 0) warn(`${left} plugin processes survive SIGKILL`);
      await sleep(pollMs);
    }
  }

  #killOnce(): number {
    let left = 0;
    let members: Map<number, number> | null = null;
    const origins = new Set<string>();
    const gone: string[] = [];
    for (const name of existsSync(this.#directory) ? readdirSync(this.#directory) : []) {
      const [, id, part] = name.split('.');
      // Other names are work directories of sandboxes.
      if (id === undefined || part === undefined || (id !== this.id && living.has(id))) continue;
      origins.add(id);
      const path = join(this.#directory, name);
      members ??= groupMembers();
      const killed = killAlive(part === programsPart ? marksIn(path) : markIn(path), members);
      left += killed;
      if (killed === 0) gone.push(path);
    }
    // Processes that left their groups are found by the ids in the names of these files, which are removed last.
    if (origins.size > 0) left += killByOrigin(origin => origins.has(origin.split('.')[0]!));
    if (left === 0) for (const path of gone) removeFile(path);
    return left;
  }

  #path(pid: number): string {
    return join(this.#directory, `${this.#name}.${this.id}.${pid}`);
  }
}

/** A pid file that cannot be removed is harmless: its process is gone. */
function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or the next start tries again.
  }
}

/** SIGKILL, or another signal, to a whole group; a group that is gone is fine. */
export function killGroup(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Gone, or never ours.
  }
}

/** Returns how many of the groups were alive. */
function killAlive(marks: readonly Mark[], members: Map<number, number>): number {
  const alive = marks.filter(mark => isGroupAlive(mark, members));
  for (const { pid } of alive) killGroup(pid);
  return alive.length;
}

function isGroupAlive(mark: Mark, members: Map<number, number>): boolean {
  if (mark.namespace === null) return isAlive(mark);
  if (!isHere(mark)) return false;
  // Without start ticks the leader was gone when its pid was written.
  if (mark.startTicks !== null && isAlive(mark)) return true;
  // The leader is gone. While others of its group live, the number belongs to no new process.
  const holder = identify(mark.pid).startTicks;
  return holder === null && (members.get(mark.pid) ?? 0) > 0;
}

/** How many living processes each group has. */
function groupMembers(): Map<number, number> {
  const members = new Map<number, number>();
  for (const pid of processNumbers()) {
    const stat = livingStat(pid);
    if (stat === null) continue;
    const group = Number(stat[2]);
    members.set(group, (members.get(group) ?? 0) + 1);
  }
  return members;
}

/** A host's process. None if a power cut left half of the file: then no process of that boot lives. */
function markIn(path: string): Mark[] {
  try {
    return [JSON.parse(readFileSync(path, 'utf8'))];
  } catch {
    return [];
  }
}

/** A host's programs. A process with the number is the program, unless it was started later. */
function marksIn(path: string): Mark[] {
  const { bootId, namespace, programs } = readProgramPids(path);
  return programs.map(({ pid, ticks }) => {
    const { startTicks } = identify(pid);
    const isIt = startTicks !== null && Number(startTicks) <= ticks + slackTicks;
    return { pid, bootId, namespace, startTicks: isIt ? startTicks : null };
  });
}
