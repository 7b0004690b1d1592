// Finds processes that have left their process group (setsid, double fork), by the environment with which they were started.
import { readFileSync } from 'node:fs';
import { Alarm } from '../alarm.ts';
import { processNumbers, sendSignal } from './identity.ts';

/**
 * The environment variable that marks a process and its children with their origin: `<host>` for a host, `<host>.<n>` for the nth program
 * that the host has started.
 */
export const originVariable = 'LC_HEADGATE_ORIGIN';

/** The pause after a search is at least this many times as long as the search took, so searches take at most a fifth of the time. */
export const restFactor = 4;
/** The search for processes that a program left behind usually begins this long after the end of the program. */
const idleScanMs = 500;
/** After this many passes, a search gives up, because some processes fork faster than they are found. */
const scansMax = 20;

/** Kills the processes whose origin `doomed` accepts, except this process. Returns their number. Finds none outside Linux. */
export function killByOrigin(doomed: (origin: string) => boolean): number {
  let found = 0;
  for (const pid of processNumbers()) {
    const origin = pid === process.pid ? null : originOf(pid);
    if (origin === null || !doomed(origin)) continue;
    found++;
    sendSignal(pid, 'SIGKILL');
  }
  return found;
}

/** The origin of a process. Null: the process has none, has cleared its environment, or is a zombie, or its environment cannot be read. */
function originOf(pid: number): string | null {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
    const at = `\0${environment}`.indexOf(`\0${originVariable}=`);
    if (at < 0) return null;
    const from = at + originVariable.length + 1;
    const end = environment.indexOf('\0', from);
    return environment.slice(from, end < 0 ? undefined : end);
  } catch {
    return null;
  }
}

/** Numbers the programs that a host starts, and searches for processes that programs have left behind at their end. */
export class StrayProcesses {
  readonly #host: string;
  readonly #living = new Set<string>();
  #starts = 0;
  readonly #alarm = new Alarm(() => this.#kill());
  #restUntilMs = 0;
  #waiting: (() => void)[] = [];

  /** `host`: the origin of the host itself. */
  constructor(host: string) {
    this.#host = host;
  }

  /** Returns the origin for the next program that the host starts. */
  begin(): string {
    const origin = `${this.#host}.${++this.#starts}`;
    this.#living.add(origin);
    return origin;
  }

  /** Called when the program with this origin has ended. Kills the processes that it left behind, usually after half a second. */
  end(origin: string): void {
    this.#living.delete(origin);
    this.#alarm.set(Math.max(performance.now() + idleScanMs, this.#restUntilMs));
  }

  /** Kills the processes that ended programs have left behind. Resolves when none is left, or when the search for them has given up. */
  gone(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve);
      this.#alarm.set(Math.max(performance.now(), this.#restUntilMs));
    });
  }

  /** Kills the processes whose origin is this host or one of its programs, except this process. Gives up after `scansMax` passes. */
  killAll(): void {
    for (let scan = 0; scan < scansMax; scan++) if (killByOrigin(origin => this.#isOurs(origin)) === 0) return;
  }

  #kill(): void {
    const resolvers = this.#waiting.splice(0);
    const startedMs = performance.now();
    const isOver = (origin: string) => this.#isOurs(origin) && origin !== this.#host && !this.#living.has(origin);
    for (let scan = 0; scan < scansMax; scan++) if (killByOrigin(isOver) === 0) break;
    const endedMs = performance.now();
    this.#restUntilMs = endedMs + restFactor * (endedMs - startedMs);
    for (const resolve of resolvers) resolve();
  }

  #isOurs(origin: string): boolean {
    return origin === this.#host || origin.startsWith(`${this.#host}.`);
  }
}
