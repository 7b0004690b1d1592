// The definitions in force, and the definitions with which open runs began. A run keeps its definition across reloads.
//
// The number of open runs of each definition is stored (`run_counts`), so the service need not read the runs on startup. The commit
// that ends the last open run of a definition removes the definition's entry. The selfcheck compares the entries with the runs
// (`open_runs_are_counted`).
//
// A definition stays stored after the end of its last open run, for reruns, until `prune` removes it.
import { createHash } from 'node:crypto';
import type { PipelineDefinition } from '../../../config/pipeline/definition.ts';
import { blockKeyMs, turnKeysMs } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { newestBlock } from '../../job/records/block.ts';
import { encodeRunCounts, noRuns, type RunCounts, readRunCounts } from '../records/run-counts.ts';
import { type CompiledPipeline, compilePipeline } from './compile.ts';

/** A pipeline definition, with the hash of its packed form. */
export type Version = {
  readonly name: string;
  readonly hash: Uint8Array;
  readonly compiled: CompiledPipeline;
  readonly packed: Uint8Array;
  readonly open: RunCounts;
  stored: boolean;
};

const hashBytes = 16;
/** The maximum number of stored definitions that neither the configuration nor an open run uses. */
export const unusedDefinitionsMax = 1000;

export class DefinitionVersions {
  readonly #byHash = new Map<string, Version>();
  #current = new Map<string, Version>();

  readonly #changed = new Set<Version>();
  /** The totals of the counts over all definitions. */
  readonly open = noRuns();

  /**
   * Loads the stored definitions that are in use, and the counts of their open runs. False: the counts are incomplete, because one of them
   * is unusable, or because an earlier version of headgate wrote the state.
   */
  load(reader: Reader, setAside: SetAside): boolean {
    for (const { key, value } of reader.scan('definitions', {})) {
      if (reader.get('unused_definitions', key)) continue;
      setAside.read('definitions', key, () => {
        this.#add(unpack<PipelineDefinition>(value), Buffer.from(value)).stored = true;
      });
    }
    let isWhole = true;
    for (const { key, value } of reader.scan('run_counts', {})) {
      const counts = setAside.read('run_counts', key, () => readRunCounts(value));
      if (counts) this.#countStored(key, counts);
      else isWhole = false;
    }
    this.#changed.clear();
    return isWhole && this.open.records === reader.count('runs');
  }

  /** Sets the counts of all versions to the counts of these runs. */
  recount(runs: Iterable<{ readonly hash: Uint8Array } & RunCounts>): void {
    for (const version of this.#byHash.values()) {
      const { open } = version;
      this.count(version, -open.runs, -open.records, -open.settled, -open.bytes);
    }
    for (const counts of runs) this.#countStored(counts.hash, counts);
  }

  #countStored(hash: Uint8Array, { runs, records, settled, bytes }: RunCounts): void {
    const version = this.#byHash.get(hashText(hash));
    if (version) this.count(version, runs, records, settled, bytes);
  }

  /** Adds these amounts to the counts of a version's open runs. */
  count(version: Version, runs: number, records: number, settled: number, bytes: number): void {
    for (const counts of [version.open, this.open]) {
      counts.runs += runs;
      counts.records += records;
      counts.settled += settled;
      counts.bytes += bytes;
    }
    this.#changed.add(version);
  }

  /** Writes the counts that changed since the last call. */
  flush(batch: Batch): void {
    for (const { hash, open } of this.#changed) {
      if (open.runs > 0) batch.put('run_counts', hash, encodeRunCounts(open));
      else batch.remove('run_counts', hash);
    }
    this.#changed.clear();
  }

  /** Makes new runs use these definitions from now on. */
  configure(pipelines: readonly PipelineDefinition[]): void {
    const next = pipelines.map(definition => this.#add(definition, pack(definition)));
    this.#current = new Map(next.map(version => [version.name, version]));
  }

  current(name: string): Version | undefined {
    return this.#current.get(name);
  }

  currentAll(): Iterable<Version> {
    return this.#current.values();
  }

  ofHash(hash: Uint8Array): Version {
    const version = this.#byHash.get(hashText(hash));
    if (version === undefined) throw new Error('a run has no definition');
    return version;
  }

  /** Finds a definition, for a rerun. Undefined: the definition is no longer stored. */
  find(hash: Uint8Array, reader: Reader): Version | undefined {
    const known = this.#byHash.get(hashText(hash));
    if (known) return known;
    const packed = reader.get('definitions', hash);
    return packed && this.#add(unpack<PipelineDefinition>(packed), Buffer.from(packed));
  }

  /** Stores the definition, unless it is stored already. Must be called when a run with this definition is stored or has ended. */
  keep(version: Version, batch: Batch): void {
    if (version.stored) return;
    version.stored = true;
    batch.put('definitions', version.hash, version.packed);
    batch.remove('unused_definitions', version.hash);
  }

  /** Releases all definitions that neither an open run nor the configuration uses. */
  sweep(reader: Reader, turn: Pick<Turn, 'batch' | 'nowUs'>): void {
    for (const version of this.#byHash.values()) this.release(version, reader, turn);
  }

  /**
   * Drops the definition from memory if neither an open run nor the configuration uses it. The definition stays stored for
   * reruns.
   */
  release(version: Version, reader: Reader, { batch, nowUs }: Pick<Turn, 'batch' | 'nowUs'>): void {
    if (version.open.runs > 0 || this.#current.get(version.name) === version) return;
    this.#byHash.delete(hashText(version.hash));
    if (version.stored) batch.put('unused_definitions', version.hash, pack(unusedSinceUs(reader, nowUs)));
    version.stored = false;
  }

  /**
   * Removes unused definitions whose runs have all been pruned. If there are more than `unusedDefinitionsMax` unused definitions,
   * also removes the definitions that have been unused for the longest time.
   */
  prune(reader: Reader, batch: Batch, setAside: SetAside): void {
    if (reader.count('unused_definitions') === 0) return;
    const unused: { readonly hash: Buffer; readonly sinceUs: number }[] = [];
    for (const { key, value } of reader.scan('unused_definitions', {})) {
      const hash = Buffer.from(key);
      if (this.#byHash.has(hashText(hash))) continue;
      const sinceUs = setAside.read('unused_definitions', hash, () => unpack<number>(value));
      if (sinceUs !== undefined) unused.push({ hash, sinceUs });
    }
    unused.sort((a, b) => b.sinceUs - a.sinceUs);
    const oldestUs = oldestBlockUs(reader);
    for (const [place, { hash, sinceUs }] of unused.entries()) {
      // The definition is kept if the oldest stored block was accepted before the definition became unused: the block may
      // have runs that used it.
      if (place < unusedDefinitionsMax && sinceUs >= oldestUs) continue;
      batch.remove('definitions', hash);
      batch.remove('unused_definitions', hash);
    }
  }

  #add(definition: PipelineDefinition, packed: Uint8Array): Version {
    const hash = createHash('sha256').update(packed).digest().subarray(0, hashBytes);
    let version = this.#byHash.get(hashText(hash));
    if (version === undefined) {
      const compiled = compilePipeline(definition);
      version = { name: definition.name, hash, compiled, packed, open: noRuns(), stored: false };
      this.#byHash.set(hashText(hash), version);
    }
    return version;
  }
}

/**
 * A time, in µs, that is not before the key of any block with a run of the definition. After the clock was set back, keys are ahead of the
 * clock. The blocks of this turn, which cannot be read yet, may be later by up to `turnKeysMs`.
 */
function unusedSinceUs(reader: Reader, nowUs: number): number {
  const newest = newestBlock(reader);
  return Math.max(nowUs, newest ? blockKeyMs(newest) * 1000 : 0) + turnKeysMs * 1000;
}

/** When the oldest stored block was accepted, in µs, according to its key. Infinity: no block is stored. */
function oldestBlockUs(reader: Reader): number {
  for (const key of reader.keys('blocks', { limit: 1 })) return blockKeyMs(key) * 1000;
  return Infinity;
}

function hashText(hash: Uint8Array): string {
  return Buffer.from(hash).toString('latin1');
}
