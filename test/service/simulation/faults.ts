// The faults of a world: each has a name, and a probability that its seed draws from a short list.
import { Dice } from './dice.ts';

/** The probabilities from which a seed draws for each fault. */
export const faultOdds = {
  // Faults of plugin code, drawn for each attempt.
  taskFails: [0, 0.1, 0.3],
  taskFailsForGood: [0, 0.05, 0.2],
  taskTimesOut: [0, 0.05],
  taskKillsItsHost: [0, 0.3],
  // Faults of hosts, drawn for each report.
  hostLost: [0, 0, 0.01, 0.05],
  tasksReturned: [0, 0.05, 0.2],
  outcomesTwice: [0, 0.1],
  outcomesLate: [0, 0.1],
  outcomesGarbled: [0, 0, 0.01, 0.05],
  // Faults of the process, drawn for each turn.
  killedBetweenTurns: [0, 0, 0.01, 0.05],
  killedBeforeCommit: [0, 0, 0.01, 0.05],
  killedAfterCommit: [0, 0, 0.01, 0.05],
  killedAmidEffects: [0, 0, 0.01, 0.05],
  // Faults of the disk, drawn for each commit.
  diskFull: [0, 0, 0.01, 0.05],
  diskStaysFull: [0, 0, 0.01],
  diskFault: [0, 0, 0.02],
  diskLow: [0, 0, 0.02],
  // Faults of the clock: set back before a start; far ahead, because the service was down for long; set ahead at any time; and slow, because
  // it was set back while the service runs, so that timers are early.
  clockBack: [0, 0, 0.5],
  startedLate: [0, 0, 0.3],
  clockAhead: [0, 0, 0.01],
  clockSlow: [0, 0, 0.1],
  // Records that cannot be decoded, drawn for each start.
  recordPoisoned: [0, 0, 0.3],
  // Interventions of operators.
  reloaded: [0, 0.01, 0.05],
  paused: [0, 0.02, 0.1],
  sealed: [0, 0, 0.2],
  stopped: [0, 0, 0.01],
  auditPruned: [0, 0.1],
  // Interventions of callers: they cancel jobs of their own or of others.
  cancelled: [0, 0, 0.05, 0.2],
  // Callers reschedule delayed jobs.
  rescheduled: [0, 0.02, 0.1],
  // Callers rerun ended jobs, and start actions over many jobs.
  ranAgain: [0, 0.03, 0.1],
  actedOnMany: [0, 0, 0.05, 0.2],
  // Callers send batches.
  batched: [0, 0.03, 0.1],
  // Messages whose handling throws.
  callThrows: [0, 0, 0.02],
  outcomeThrows: [0, 0, 0.02],
} as const;
export type FaultName = keyof typeof faultOdds;
export const faultNames = Object.keys(faultOdds) as FaultName[];

export class Faults {
  readonly #dice = new Map<FaultName, Dice>();
  readonly #odds = new Map<FaultName, number>();
  /** If true, no fault strikes. */
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

  /** Counts a strike of a fault whose effect shows only after its dice are rolled. */
  note(name: FaultName): void {
    this.struck.set(name, (this.struck.get(name) ?? 0) + 1);
  }

  /** Rolls the dice of a fault without counting it: the caller calls `note` if it has struck. */
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
