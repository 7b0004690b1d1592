// Pid files of hosts and their programs: the next start of the service kills processes that outlived the last one.

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
/** A program starts before it is marked, which is known a little late. Its number is not given again so soon. */
const slackTicks = 100;

/** Hosts of this thread that look after their processes themselves. */
const living = new Set<string>();

/** The marks of one host: its own process, and the file of its programs. All of them lead a group. A directory is one service's. */
export class PidFiles {
  /** Tells this host from one of the same name that is just ending, or was of a service before. */
  readonly id = randomUUID();
  readonly #directory: string;
  readonly #name: string;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  /** From now on, until `release`, other hosts leave these marks alone. */
  claim(): void {
    living.add(this.id);
  }

  release(): void {
    living.delete(this.id);
  }

  put(pid: number): void {
    writeFileSync(this.#path(pid), JSON.stringify(identify(pid) satisfies Mark), { mode: 0o600 });
  }

  /** Kills every group with a mark of this host, or of one that is no more, and resolves when none is left. */
  async killAll(warn: (message: string) => void = () => {}): Promise<void> {
    for (let round = 1; ; round++) {
      const left = this.#killOnce();
      if (left === 0) return;
      if (round % 1000 === 0) warn(`${left} plugin processes do not die`);
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
      // What programs write in their sandboxes lies beside them.
      if (id === undefined || part === undefined || (id !== this.id && living.has(id))) continue;
      origins.add(id);
      const path = join(this.#directory, name);
      members ??= groupMembers();
      const killed = killAlive(part === programsPart ? marksIn(path) : markIn(path), members);
      left += killed;
      if (killed === 0) gone.push(path);
    }
    // Those that have left their groups are found by the marks of others, which go last.
    if (origins.size > 0) left += killByOrigin(origin => origins.has(origin.split('.')[0]!));
    if (left === 0) for (const path of gone) removeFile(path);
    return left;
  }

  #path(pid: number): string {
    return join(this.#directory, `${this.#name}.${this.id}.${pid}`);
  }
}

/** A mark that cannot be removed is harmless: it names a process that is gone. */
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

/** How many groups of those that are marked were alive. */
function killAlive(marks: readonly Mark[], members: Map<number, number>): number {
  const alive = marks.filter(mark => isGroupAlive(mark, members));
  for (const { pid } of alive) killGroup(pid);
  return alive.length;
}

function isGroupAlive(mark: Mark, members: Map<number, number>): boolean {
  if (mark.namespace === null) return isAlive(mark);
  if (!isHere(mark)) return false;
  // Without start ticks the leader was gone when it was marked.
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

/** Of a host; none where it was written half when the machine went down: nothing of that time lives. */
function markIn(path: string): Mark[] {
  try {
    return [JSON.parse(readFileSync(path, 'utf8'))];
  } catch {
    return [];
  }
}

/** Of its programs: who has the number is it, unless it was started later. */
function marksIn(path: string): Mark[] {
  const { bootId, namespace, programs } = readProgramPids(path);
  return programs.map(({ pid, ticks }) => {
    const { startTicks } = identify(pid);
    const isIt = startTicks !== null && Number(startTicks) <= ticks + slackTicks;
    return { pid, bootId, namespace, startTicks: isIt ? startTicks : null };
  });
}
