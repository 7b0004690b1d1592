// The definitions in force, and those that open runs began with. A run keeps its own, whatever a reload brings.
import { createHash } from 'node:crypto';
import type { PipelineDefinition } from '../../config/pipeline/definition.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import type { Batch, Reader } from '../../runtime/store/store.ts';
import { type CompiledPipeline, compilePipeline } from './compile.ts';

/** One definition, under the hash of its packed form. */
export type Version = {
  readonly name: string;
  readonly hash: Uint8Array;
  readonly compiled: CompiledPipeline;
  readonly packed: Uint8Array;
  /** Open runs with it. */
  runs: number;
  stored: boolean;
};

const hashBytes = 16;

export class Versions {
  readonly #byHash = new Map<string, Version>();
  #current = new Map<string, Version>();

  /** Reads what open runs began with; `hold` each of them, then `sweep`. */
  load(reader: Reader): void {
    for (const { value } of reader.scan('definitions', {})) {
      this.#add(unpack<PipelineDefinition>(value), Buffer.from(value)).stored = true;
    }
  }

  /** From now on new runs begin with these. */
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

  /** A run begins with it, or was read back. */
  hold(version: Version): void {
    version.runs++;
  }

  /** A run with it is being persisted: so is the definition. */
  keep(version: Version, batch: Batch): void {
    if (version.stored) return;
    version.stored = true;
    batch.put('definitions', version.hash, version.packed);
  }

  /** A run with it is over. */
  release(version: Version, batch: Batch): void {
    version.runs--;
    this.#drop(version, batch);
  }

  /** Removes what no run needs and no configuration names. */
  sweep(batch: Batch): void {
    for (const version of this.#byHash.values()) this.#drop(version, batch);
  }

  #drop(version: Version, batch: Batch): void {
    if (version.runs > 0 || this.#current.get(version.name) === version) return;
    this.#byHash.delete(hashText(version.hash));
    if (version.stored) batch.remove('definitions', version.hash);
    version.stored = false;
  }

  #add(definition: PipelineDefinition, packed: Uint8Array): Version {
    const hash = createHash('sha256').update(packed).digest().subarray(0, hashBytes);
    let version = this.#byHash.get(hashText(hash));
    if (version === undefined) {
      const compiled = compilePipeline(definition);
      version = { name: definition.name, hash, compiled, packed, runs: 0, stored: false };
      this.#byHash.set(hashText(hash), version);
    }
    return version;
  }
}

function hashText(hash: Uint8Array): string {
  return Buffer.from(hash).toString('latin1');
}
