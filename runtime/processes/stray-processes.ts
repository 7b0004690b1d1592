// Finds processes that left their process group (setsid, a double fork) by the environment that they were started with.
import { readFileSync } from 'node:fs';
import { Alarm } from '../alarm.ts';
import { processNumbers } from './identity.ts';

/**
 * The environment variable that marks a process and its children with their origin: `<host>` for a host itself, and `<host>.<n>` for
 * programs, where n numbers the programs that the host has started.
 */
export const originVariable = 'LC_HEADGATE_ORIGIN';

/** After a search, the next one waits this many times as long as the search took. */
const restFactor = 4;
/** Processes left by a program that ended are searched for within this time. */
const idleLookMs = 500;
/** After this many attempts, the search gives up on processes that fork faster than they are found. */
const looksMax = 20;

/** Kills all processes with an origin that is `doomed`; returns how many it has found. Finds none outside Linux. */
export function killByOrigin(doomed: (origin: string) => boolean): number {
  let found = 0;
  for (const pid of processNumbers()) {
    const origin = pid === process.pid ? null : originOf(pid);
    if (origin === null || !doomed(origin)) continue;
    found++;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has ended in the meantime.
    }
  }
  return found;
}

/** Null also for a process that cleared its environment, is a zombie, or runs as another user. */
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

/** The programs that one host has started, and the search for processes left by those that have ended. */
export class StrayProcesses {
  readonly #host: string;
  readonly #living = new Set<string>();
  #starts = 0;
  readonly #look = new Alarm(() => this.#kill());
  #restUntilMs = 0;
  #waiting: (() => void)[] = [];

  /** `host`: its own origin. */
  constructor(host: string) {
    this.#host = host;
  }

  /** The origin for the next program that the host starts. */
  begin(): string {
    const origin = `${this.#host}.${++this.#starts}`;
    this.#living.add(origin);
    return origin;
  }

  /** The program with this origin has ended. The processes that it left behind are killed, usually within half a second. */
  end(origin: string): void {
    this.#living.delete(origin);
    this.#look.set(Math.max(performance.now() + idleLookMs, this.#restUntilMs));
  }

  /** Resolves when programs that have ended have left no process behind. Called before a job is attempted again. */
  gone(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve);
      this.#look.set(Math.max(performance.now(), this.#restUntilMs));
    });
  }

  /** Kills every process that this host and its threads have started. */
  killAll(): void {
    for (let look = 0; look < looksMax; look++) if (killByOrigin(origin => this.#isOurs(origin)) === 0) return;
  }

  #kill(): void {
    const told = this.#waiting.splice(0);
    const startedMs = performance.now();
    const isOver = (origin: string) => this.#isOurs(origin) && origin !== this.#host && !this.#living.has(origin);
    for (let look = 0; look < looksMax; look++) if (killByOrigin(isOver) === 0) break;
    const endedMs = performance.now();
    this.#restUntilMs = endedMs + restFactor * (endedMs - startedMs);
    for (const tell of told) tell();
  }

  #isOurs(origin: string): boolean {
    return origin === this.#host || origin.startsWith(`${this.#host}.`);
  }
}
