// The open runs. Those that were needed lately are in memory, up to so many bytes; any other is read when somebody asks for it.

import { unpinned } from '../../runtime/bytes.ts';
import { type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { DefinitionVersions } from './definition-versions.ts';
import type { Descendants } from './descendants.ts';
import { decodeRun, decodeScope, scopeKey } from './records/run.ts';
import { type Run, runOf, type Scope, scopeOf } from './run.ts';

/** What the runs in memory may take there, by estimate. */
const loadedBytesMax = 64 * 2 ** 20;
/** Runs that are let go of, or passed because they were needed just now, in one turn. */
const trimmedPerTurnMax = 4096;
/** By estimate, of a run and of a scope, besides twice their records. */
const runBytes = 1024;
const scopeBytes = 512;

export type RunsOptions = {
  readonly reader: Reader;
  readonly versions: DefinitionVersions;
  readonly descendants: Descendants;
  readonly setAside: SetAside;
  /** A run leaves the memory, and stays open. */
  readonly onReleased: (run: Run) => void;
  /** By default 64 MiB. */
  readonly loadedBytesMax?: number;
};

export class Runs {
  readonly #options: RunsOptions;
  readonly #loaded = new Map<string, Run>();
  #bytes = 0;
  /** Ended in this turn: the store still has them. */
  readonly #ended = new Set<string>();
  #turn = 0;

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** How many are in memory. */
  get loaded(): number {
    return this.#loaded.size;
  }

  /** Those in memory. */
  values(): Iterable<Run> {
    return this.#loaded.values();
  }

  /** The open run of this name (the text of its id), from memory or from the store. */
  find(name: string): Run | undefined {
    const run = this.#loaded.get(name) ?? this.#read(name);
    if (run) run.usedIn = this.#turn;
    return run;
  }

  /** A run that begins. */
  add(run: Run): void {
    run.usedIn = this.#turn;
    this.#loaded.set(run.name, run);
    run.tree.loaded++;
  }

  /** A run that is over. */
  remove(run: Run): void {
    this.#ended.add(run.name);
    this.#release(run);
  }

  /** Its records have been written anew. */
  weigh(run: Run): void {
    const weight = runBytes + run.scopes.size * scopeBytes + 2 * run.bytes;
    this.#bytes += weight - run.weight;
    run.weight = weight;
  }

  /** A new turn: what the last one changed is in the store. Of too many runs those go that were not needed lately. */
  renew(turn: number): void {
    const { loadedBytesMax: bytesMax = loadedBytesMax, onReleased } = this.#options;
    this.#turn = turn;
    this.#ended.clear();
    if (this.#bytes <= bytesMax) return;
    // Not further than to the end of the line: those that were put there come again.
    let left = Math.min(trimmedPerTurnMax, this.#loaded.size);
    for (const [name, run] of this.#loaded) {
      if (this.#bytes <= bytesMax || left-- === 0) return;
      if (run.usedIn >= turn - 1) {
        // To the end of the line.
        this.#loaded.delete(name);
        this.#loaded.set(name, run);
      } else {
        this.#release(run);
        onReleased(run);
      }
    }
  }

  #release(run: Run): void {
    this.#loaded.delete(run.name);
    this.#bytes -= run.weight;
    this.#options.descendants.release(run.tree);
  }

  #read(name: string): Run | undefined {
    if (this.#ended.has(name)) return undefined;
    const { reader, setAside } = this.#options;
    const id = unpinned(Buffer.from(name, 'latin1'));
    const value = reader.get('runs', id);
    const run = value && setAside.read('runs', id, () => this.#decode(id, value));
    if (!run) return undefined;
    this.add(run);
    this.weigh(run);
    return run;
  }

  /** The run with its scopes. */
  #decode(id: JobId, value: Uint8Array): Run {
    const { reader, versions, descendants } = this.#options;
    const { hash, run: stored, fans, top } = decodeRun(value);
    const version = versions.ofHash(hash);
    const inner: Scope[] = [];
    const range = { from: scopeKey(id, 1), to: scopeKey(id, stored.scopesMade) };
    for (const { key, value: bytes } of stored.scopesMade > 1 ? reader.scan('runs', range) : []) {
      const number = Buffer.from(key).readUInt32BE(jobIdBytes);
      inner.push(scopeOf(decodeScope(Buffer.from(bytes)), number, true, bytes.length));
    }
    const run = runOf(stored, id, version, descendants.held(stored.root ?? id), null, value.length);
    for (const scope of [scopeOf(top, 0, true), ...inner]) {
      run.scopes.set(scope.id, scope);
      run.bytes += scope.recordBytes;
    }
    for (const fan of fans) run.fans.set(fan.id, { ...fan, plan: null, stored: true });
    return run;
  }
}
