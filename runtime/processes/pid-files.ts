// Pid files of hosts and their programs. With these files, the service kills the processes that an ended host, even of an earlier service,
// has left behind.

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive, isHere, livingStat, type ProcessIdentity, processNumbers, sendSignal } from './identity.ts';
import { programsPart, readProgramPids } from './program-pids.ts';
import { killByOrigin, restFactor } from './stray-processes.ts';

const pollMs = 5;
const warnMs = 30_000;
/**
 * A process that has a noted pid counts as the noted program if it was started at most this many clock ticks (1 s) after the noted time. The
 * tolerance is needed because the noted time may be extrapolated. It does no harm, because a pid is not reused so soon.
 */
const slackTicks = 100;

/**
 * The ids of the hosts that this thread manages, from `claim` to `release`. The `PidFiles` of another host leave the processes of these hosts
 * alone, because each of them kills its own.
 */
const living = new Set<string>();

/**
 * The pid files of one host: for its own process and for its programs. Each of these processes leads a process group. Each
 * service has its own directory of pid files.
 */
export class PidFiles {
  /**
   * The id of the host. It distinguishes the host from another host of the same name that is ending, or that belonged to an earlier
   * service.
   */
  readonly id = randomUUID();
  readonly #directory: string;
  readonly #name: string;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  /** From now until `release`, other hosts leave the pid files of this host alone. */
  claim(): void {
    living.add(this.id);
  }

  release(): void {
    living.delete(this.id);
  }

  put(pid: number): void {
    writeFileSync(this.#path(pid), JSON.stringify(identify(pid)), { mode: 0o600 });
  }

  /**
   * Kills every process group in the pid files of this host and of hosts that have ended. Also finds, by their origin, the processes of
   * these hosts that have left their groups, and kills them. Resolves when none of these processes is left.
   */
  async killAll(warn: (message: string) => void = () => {}): Promise<void> {
    for (let warnedMs = performance.now(); ; ) {
      const startedMs = performance.now();
      const left = this.#killOnce();
      if (left === 0) return;
      const endedMs = performance.now();
      if (endedMs - warnedMs >= warnMs) {
        warn(`${left} plugin processes survive SIGKILL`);
        warnedMs = endedMs;
      }
      await sleep(Math.max(pollMs, restFactor * (endedMs - startedMs)));
    }
  }

  #killOnce(): number {
    let left = 0;
    let members: Map<number, number> | null = null;
    const origins = new Set<string>();
    const gone: string[] = [];
    for (const name of existsSync(this.#directory) ? readdirSync(this.#directory) : []) {
      const [, id, part] = name.split('.');
      // A name without these parts is no pid file, but the directory for the files that sandboxed plugins write.
      if (id === undefined || part === undefined || (id !== this.id && living.has(id))) continue;
      origins.add(id);
      const path = join(this.#directory, name);
      members ??= groupMembers();
      const killed = killAlive(part === programsPart ? marksIn(path) : markIn(path), members);
      left += killed;
      if (killed === 0) gone.push(path);
    }
    // A process that has left its group is found by the id of its host, which the names of the pid files contain. So the pid files are
    // removed last.
    if (origins.size > 0) left += killByOrigin(origin => origins.has(origin.split('.')[0]!));
    if (left === 0) for (const path of gone) removeFile(path);
    return left;
  }

  #path(pid: number): string {
    return join(this.#directory, `${this.#name}.${this.id}.${pid}`);
  }
}

/** Removes a pid file. A pid file that cannot be removed is harmless, because its processes are gone. */
function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The file is gone already, or the next call of `killAll` tries again.
  }
}

/** Kills the groups of these leaders that are alive, and returns their number. */
function killAlive(leaders: readonly ProcessIdentity[], members: Map<number, number>): number {
  const alive = leaders.filter(leader => isGroupAlive(leader, members));
  for (const { pid } of alive) sendSignal(-pid, 'SIGKILL');
  return alive.length;
}

function isGroupAlive(mark: ProcessIdentity, members: Map<number, number>): boolean {
  if (mark.namespace === null) return isAlive(mark);
  if (!isHere(mark)) return false;
  // If the mark has no start ticks, the leader is known to be gone.
  if (mark.startTicks !== null && isAlive(mark)) return true;
  // The leader is gone. While other processes of the group live, no new process gets the leader's pid.
  const holder = identify(mark.pid).startTicks;
  return holder === null && (members.get(mark.pid) ?? 0) > 0;
}

/** The number of living processes in each group. */
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

/** Reads the pid file of a host's own process. Returns no mark if the file cannot be read, or is cut off, as after a power cut. */
function markIn(path: string): ProcessIdentity[] {
  try {
    return [JSON.parse(readFileSync(path, 'utf8'))];
  } catch {
    return [];
  }
}

/** Reads the pid file of a host's programs. A process with a noted pid is the program, unless it was started too late (`slackTicks`). */
function marksIn(path: string): ProcessIdentity[] {
  const { bootId, namespace, programs } = readProgramPids(path);
  return programs.map(({ pid, ticks }) => {
    const { startTicks } = identify(pid);
    const isIt = startTicks !== null && Number(startTicks) <= ticks + slackTicks;
    return { pid, bootId, namespace, startTicks: isIt ? startTicks : null };
  });
}
