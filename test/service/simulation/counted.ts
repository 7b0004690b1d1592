// What the counters on disk must say: worked out from the jobs and attempts that the commits bring.
import { isDeepStrictEqual } from 'node:util';
import {
  type CommandTotals,
  countNotRun,
  countsKey,
  emptyCounts,
  type PrunedCount,
  retriedCount,
} from '../../../actors/job/records/counts.ts';
import type { TerminalStatus } from '../../../actors/job/records/job.ts';
import { hasRun, isNeverStarted } from '../../../actors/job/records/journal.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';

/** The fields of a job that are counted. */
type CountedJob = {
  readonly plugin: string;
  readonly command: string;
  readonly attempts: readonly {
    readonly number: number;
    readonly status: TerminalStatus;
    readonly final: boolean;
    readonly startedUs: number;
    readonly completedUs: number;
  }[];
};

export class Counted {
  readonly #reader: Reader;
  readonly #counts = new Map<string, CommandTotals>();
  /** Keys of the counters that changed in the commit under way. */
  readonly #changed = new Set<string>();
  /** The counters as they were last read. A rewritten record is another object, by which it is recognized. */
  readonly #read = new Map<string, { readonly bytes: Uint8Array; readonly counts: CommandTotals }>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** A counter was written. */
  written(key: Uint8Array): void {
    this.#changed.add(Buffer.from(key).toString());
  }

  of({ plugin, command }: Pick<CountedJob, 'plugin' | 'command'>): CommandTotals {
    const key = countsKey(plugin, command);
    const counts = this.#counts.get(key) ?? emptyCounts();
    this.#counts.set(key, counts);
    this.#changed.add(key);
    return counts;
  }

  add({ plugin, command, attempts }: CountedJob, sign: 1 | -1, isWhole = true): void {
    const counts = this.of({ plugin, command });
    counts.pruned ??= {};
    const { pruned } = counts;
    const count = (name: PrunedCount): void => {
      counts[name] += sign;
      if (sign < 0) pruned[name] = (pruned[name] ?? 0) + 1;
    };
    if (isWhole) count('accepted');
    for (const { status, final, number, startedUs, completedUs } of attempts) {
      count(final ? status : retriedCount(status));
      if (final && isNeverStarted(status, number)) count('never_started');
      else if (sign > 0 && final && !hasRun(status, number, completedUs - startedUs)) countNotRun(counts, status);
    }
  }

  /** Compares the counters that changed in this commit with the stored ones. */
  compare(): void {
    for (const key of this.#changed) {
      const own = this.#counts.get(key) ?? emptyCounts();
      const counts = this.#stored(key);
      for (const name of Object.keys(own) as (keyof CommandTotals)[]) {
        if (name === 'running' || name === 'pruned' || name === 'unstarted') continue;
        holds(
          own[name] === (counts[name] ?? 0),
          () => `${key.replace('\0', '/')}: ${name} is ${counts[name]}, there are ${own[name]}`,
        );
      }
      const [known, stored] = [own.pruned ?? {}, counts.pruned ?? {}];
      holds(
        isDeepStrictEqual(known, stored),
        () => `${key.replace('\0', '/')}: pruned were ${JSON.stringify(known)}, counted ${JSON.stringify(stored)}`,
      );
      holds(
        isDeepStrictEqual(own.unstarted, counts.unstarted),
        () =>
          `${key.replace('\0', '/')}: unstarted is ${JSON.stringify(counts.unstarted)}, there are ${JSON.stringify(own.unstarted)}`,
      );
    }
    this.#changed.clear();
  }

  /** Compares the numbers of running jobs. Called only after the ledger has read all open jobs: until then, it counts none as running. */
  compareRunning(): void {
    for (const [key, { running }] of this.#counts) {
      const counted = this.#stored(key).running;
      holds(running === counted, () => `${key.replace('\0', '/')}: running is ${counted}, there are ${running}`);
    }
  }

  #stored(key: string): CommandTotals {
    const bytes = this.#reader.get('counters', Buffer.from(key));
    if (!bytes) return emptyCounts();
    const known = this.#read.get(key);
    if (known?.bytes === bytes) return known.counts;
    const counts = unpack<CommandTotals>(bytes);
    this.#read.set(key, { bytes, counts });
    return counts;
  }
}
