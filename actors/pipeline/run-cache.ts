// The open runs. Recently used runs are in memory, within a limit of bytes; other runs are read on demand.

import { unpinned } from '../../runtime/bytes.ts';
import { blockOf, type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { findOpen } from '../job/records/open.ts';
import type { DefinitionVersions } from './definition/definition-versions.ts';
import type { Descendants } from './descendants.ts';
import { type FanOut, isParked } from './fanout/fanout.ts';
import { decodeRun, decodeScope, numberedKey } from './records/run.ts';
import { type Run, runOf, type Scope, scopeOf } from './run.ts';

/** Above this estimated total size of the runs in memory, runs are dropped from memory. */
const loadedBytesMax = 64 * 2 ** 20;
/** The maximum number of runs that one turn examines: each is dropped from memory, or kept because it was used recently. */
const trimmedPerTurnMax = 4096;
/** `runBytes`, `scopeBytes`: the estimated memory of a run or scope, in addition to twice the size of its record. */
const runBytes = 1024;
const scopeBytes = 512;

type RunsOptions = {
  readonly reader: Reader;
  readonly versions: DefinitionVersions;
  readonly descendants: Descendants;
  readonly setAside: SetAside;
  /** Called when a run that stays open is dropped from memory. */
  readonly onReleased: (run: Run) => void;
  readonly loadedBytesMax?: number;
};

export class Runs {
  readonly #options: RunsOptions;
  readonly #loaded = new Map<string, Run>();
  #bytes = 0;
  /** Runs that ended in this turn: reads of the store still show them. */
  readonly #ended = new Set<string>();
  #turn = 0;

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** The runs in memory. */
  values(): Iterable<Run> {
    return this.#loaded.values();
  }

  /** The open run with this name, which is the run's id as text. */
  find(name: string): Run | undefined {
    const run = this.#loaded.get(name) ?? this.#read(name);
    if (run) run.usedIn = this.#turn;
    return run;
  }

  add(run: Run): void {
    run.usedIn = this.#turn;
    this.#loaded.set(run.name, run);
    run.tree.loaded++;
  }

  /** Removes a run that has ended. */
  remove(run: Run): void {
    this.#ended.add(run.name);
    this.#release(run);
  }

  /** Updates the estimated memory of the run after its records were written or read. */
  weigh(run: Run): void {
    const weight = runBytes + run.scopes.size * scopeBytes + 2 * run.bytes;
    this.#bytes += weight - run.weight;
    run.weight = weight;
  }

  /**
   * Begins a turn: the previous turn is committed. If the runs take too much memory, runs that were not used recently are dropped
   * from memory.
   */
  renew(turn: number): void {
    const { loadedBytesMax: bytesMax = loadedBytesMax, onReleased } = this.#options;
    this.#turn = turn;
    this.#ended.clear();
    if (this.#bytes <= bytesMax) return;
    // With this limit, no run is visited twice, although recently used runs move to the end.
    let left = Math.min(trimmedPerTurnMax, this.#loaded.size);
    for (const [name, run] of this.#loaded) {
      if (this.#bytes <= bytesMax || left-- === 0) return;
      if (run.usedIn >= turn - 1) {
        // Moves the run to the end.
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

  #decode(id: JobId, value: Uint8Array): Run {
    const { reader, versions, descendants } = this.#options;
    // Throws if the open record is unusable: the end of the run could not be recorded.
    findOpen(reader, blockOf(id));
    const { hash, run: stored, fans, top } = decodeRun(value);
    const version = versions.ofHash(hash);
    const inner: Scope[] = [];
    const range = { from: numberedKey(id, 1), to: numberedKey(id, stored.scopesMade) };
    for (const { key, value: bytes } of stored.scopesMade > 1 ? reader.scan('runs', range) : []) {
      const number = Buffer.from(key).readUInt32BE(jobIdBytes);
      inner.push(scopeOf(decodeScope(Buffer.from(bytes)), number, true, bytes.length));
    }
    const run = runOf(stored, id, version, descendants.held(stored.root ?? id), null, value.length);
    for (const scope of [scopeOf(top, 0, true), ...inner]) {
      run.scopes.set(scope.id, scope);
      run.bytes += scope.recordBytes;
    }
    for (const stored of fans) {
      const fan: FanOut = { ...stored, plan: null, stored: true };
      run.fans.set(fan.id, fan);
      if (isParked(fan)) run.parked.add(fan);
    }
    return run;
  }
}
