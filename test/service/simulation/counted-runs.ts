// What the counts of each definition's open runs must say: worked out from the records of runs that the commits write.
import { decodeAccepted } from '../../../actors/pipeline/records/accepted-runs.ts';
import { readCountsOf } from '../../../actors/pipeline/records/run.ts';
import { noRuns, readRunCounts } from '../../../actors/pipeline/records/run-counts.ts';
import { jobIdBytes } from '../../../runtime/ids.ts';
import type { Reader, Table } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import { hexOf, textOf } from './key-text.ts';

type Runs = { readonly hash: string; readonly runs: number; readonly settled: number };
type Totals = { runs: number; settled: number };

export class CountedRuns {
  readonly #reader: Reader;
  /** The runs of each record, by table and key. */
  readonly #records = new Map<string, Runs>();
  readonly #totals = new Map<string, Totals>();
  /** Hashes of the definitions whose counts may have changed in the commit under way. */
  readonly #changed = new Set<string>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Open runs, with those that have not begun. */
  get open(): number {
    let open = 0;
    for (const { runs } of this.#totals.values()) open += runs;
    return open;
  }

  /** A record was written or removed. */
  written(table: Table, key: Uint8Array): void {
    if (table === 'run_counts') this.#changed.add(textOf(key));
    else if (table === 'accepted_runs' || (table === 'runs' && key.length === jobIdBytes)) this.#follow(table, key);
  }

  #follow(table: 'runs' | 'accepted_runs', key: Uint8Array): void {
    const name = `${table} ${textOf(key)}`;
    const before = this.#records.get(name);
    if (before) this.#add(before, -1);
    const value = this.#reader.get(table, key);
    const now = value && runsIn(table, key, value);
    if (now) {
      this.#records.set(name, now);
      this.#add(now, 1);
    } else this.#records.delete(name);
  }

  #add({ hash, runs, settled }: Runs, sign: 1 | -1): void {
    const totals = this.#totals.get(hash) ?? { runs: 0, settled: 0 };
    totals.runs += sign * runs;
    totals.settled += sign * settled;
    this.#totals.set(hash, totals);
    this.#changed.add(hash);
  }

  /** Compares the counts that changed in this commit with the stored ones. */
  compare(): void {
    for (const hash of this.#changed) {
      const { runs, settled } = this.#totals.get(hash) ?? noRuns();
      const value = this.#reader.get('run_counts', Buffer.from(hash, 'latin1'));
      const counted = value ? readRunCounts(value) : noRuns();
      holds(
        counted.runs === runs && counted.settled === settled,
        () =>
          `of the definition ${hexOf(hash)}, ${counted.runs} runs with ${counted.settled} settled jobs are counted; there are ${runs} with ${settled}`,
      );
    }
    this.#changed.clear();
  }
}

function runsIn(table: 'runs' | 'accepted_runs', key: Uint8Array, value: Uint8Array): Runs {
  if (table === 'runs') {
    const { hash, settled } = readCountsOf(Buffer.from(key), value);
    return { hash: textOf(hash), runs: 1, settled };
  }
  const { hash, count } = decodeAccepted(key, value);
  return { hash: textOf(hash), runs: count, settled: 0 };
}
