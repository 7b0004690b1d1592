// The faults of a world: each has a name, and a probability that its seed draws from a short list.
import { Dice } from './dice.ts';

/** What a seed may draw for each fault: the chance that it strikes when it could. */
export const faultOdds = {
  // Of plugin code, for an attempt.
  taskFails: [0, 0.1, 0.3],
  taskFailsForGood: [0, 0.05, 0.2],
  taskTimesOut: [0, 0.05],
  taskKillsItsHost: [0, 0.3],
  // Of hosts, for a report.
  hostLost: [0, 0, 0.01, 0.05],
  tasksReturned: [0, 0.05, 0.2],
  outcomesTwice: [0, 0.1],
  outcomesLate: [0, 0.1],
  outcomesGarbled: [0, 0, 0.01, 0.05],
  // Of the process, for a turn.
  killedBetweenTurns: [0, 0, 0.01, 0.05],
  killedBeforeCommit: [0, 0, 0.01, 0.05],
  killedAfterCommit: [0, 0, 0.01, 0.05],
  killedAmidEffects: [0, 0, 0.01, 0.05],
  // Of the disk, for a commit.
  diskFull: [0, 0, 0.01, 0.05],
  diskStaysFull: [0, 0, 0.01],
  diskFault: [0, 0, 0.02],
  diskLow: [0, 0, 0.02],
  // Of the clock: back before a start; far ahead, since nobody started the service for long; ahead at any time; and slow, since it was set back while the service runs, so that timers are early.
  clockBack: [0, 0, 0.5],
  startedLate: [0, 0, 0.3],
  clockAhead: [0, 0, 0.01],
  clockSlow: [0, 0, 0.1],
  // Of records that cannot be decoded, for a start.
  recordPoisoned: [0, 0, 0.3],
  // Of those who run the service.
  reloaded: [0, 0.01, 0.05],
  paused: [0, 0.02, 0.1],
  sealed: [0, 0, 0.2],
  stopped: [0, 0, 0.01],
  auditPruned: [0, 0.1],
  // Of callers: they cancel what they, or others, have asked for.
  cancelled: [0, 0, 0.05, 0.2],
  // They give delayed jobs another time.
  rescheduled: [0, 0.02, 0.1],
  // They run again what has ended, and they act on many jobs at once.
  ranAgain: [0, 0.03, 0.1],
  actedOnMany: [0, 0, 0.05, 0.2],
  // They call many times in one request.
  batched: [0, 0.03, 0.1],
  // Of messages: their handling throws.
  callThrows: [0, 0, 0.02],
  outcomeThrows: [0, 0, 0.02],
} as const;
export type FaultName = keyof typeof faultOdds;
export const faultNames = Object.keys(faultOdds) as FaultName[];

export class Faults {
  readonly #dice = new Map<FaultName, Dice>();
  readonly #odds = new Map<FaultName, number>();
  /** No fault strikes any more. */
  isCalm = false;
  /** How often each has struck. */
  readonly struck = new Map<FaultName, number>();

  constructor(seed: number, without: ReadonlySet<string>) {
    for (const name of faultNames) {
      const dice = new Dice(seed, name);
      const odds = dice.pick(faultOdds[name]);
      this.#dice.set(name, dice);
      this.#odds.set(name, without.has(name) ? 0 : odds);
    }
  }

  oddsOf(name: FaultName): number {
    return this.#odds.get(name)!;
  }

  strikes(name: FaultName): boolean {
    const strikes = this.tries(name);
    if (strikes) this.note(name);
    return strikes;
  }

  /** It has struck: for what is found out later than its dice are rolled. */
  note(name: FaultName): void {
    this.struck.set(name, (this.struck.get(name) ?? 0) + 1);
  }

  /** Whether it should be tried; whoever does notes it when it has struck. */
  tries(name: FaultName): boolean {
    return this.#dice.get(name)!.chance(this.#odds.get(name)!) && !this.isCalm;
  }
}

export type Scenario = {
  readonly seed: number;
  /** Turns in which faults strike. */
  readonly turns: number;
  /** Faults that are left out. */
  readonly without: ReadonlySet<string>;
  /** Where the world keeps its ledger on disk; null: the ledger is in memory. Both give the same life. */
  readonly disk: string | null;
};
