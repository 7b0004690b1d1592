// The results of tokens that have arrived at ends, and at joins that collect results. The turn in which a result arrives stores it. The
// results at a join are read when the join fires, and the results at the end of the main part when the run ends.
import { packedNull } from '../../../runtime/packing.ts';
import { type PartReader, partsIn, partsOf, wholeOf } from '../../../runtime/parted.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { keyText } from '../../job/records/open.ts';
import { arrivalKey } from '../records/run.ts';
import type { Run, Scope } from '../run.ts';

export class Arrivals {
  readonly #reader: Reader;
  readonly parts: PartReader;
  /** By key: values that this turn has written, and that a value in parts refers to. Reads of the store do not show them before the commit. */
  readonly #named = new Map<string, Uint8Array>();
  #batch!: Batch;
  #turnNumber = 0;

  constructor(reader: Reader) {
    this.#reader = reader;
    const stored = partsIn(reader);
    this.parts = {
      get: key => this.#named.get(keyText(key)) ?? stored.get(key),
      has: key => this.#named.has(keyText(key)) || stored.has(key),
    };
  }

  renew(batch: Batch, turnNumber: number): void {
    this.#batch = batch;
    this.#turnNumber = turnNumber;
    this.#named.clear();
  }

  /** Moves the arrivals from the scope's record to a value of the table `arrivals`. */
  spill(run: Run, scope: Scope): void {
    if (scope.inlineArrivals.length === 0) return;
    const value = scope.inlineArrivals.take();
    const values = scope.fresh.turn === this.#turnNumber ? [...scope.fresh.values, value] : [value];
    scope.fresh = { turn: this.#turnNumber, values };
    this.#batch.put('arrivals', arrivalKey(run.id, scope.id, scope.position, scope.stored++), value);
  }

  /**
   * The arrivals at the scope's next join, as logs (records/arrivals.ts) in the order of arrival: first the values of the table, then the
   * arrivals in the scope's record.
   */
  of(run: Run, scope: Scope): Uint8Array[] {
    const logs: Uint8Array[] = [];
    const from = arrivalKey(run.id, scope.id, scope.position, 0);
    const to = arrivalKey(run.id, scope.id, scope.position, scope.stored);
    if (scope.stored > 0) for (const { value } of this.#reader.scan('arrivals', { from, to })) logs.push(value);
    if (scope.fresh.turn === this.#turnNumber) logs.push(...scope.fresh.values);
    logs.push(scope.inlineArrivals.bytes());
    return logs;
  }

  /** The value that the table `arrivals` has under this number for the scope's current segment. The bytes are valid until the next read. */
  at(run: Run, scope: Scope, number: number): Uint8Array | undefined {
    const { turn, values } = scope.fresh;
    const fresh = turn === this.#turnNumber ? values[number - (scope.stored - values.length)] : undefined;
    return fresh ?? this.#reader.peek('arrivals', arrivalKey(run.id, scope.id, scope.position, number));
  }

  /**
   * Must be called when a value in parts refers to the scope's values in the table `arrivals`. From then on, the scope no longer owns these
   * values: retention removes them with the run's job.
   */
  name(run: Run, scope: Scope): void {
    const { turn, values } = scope.fresh;
    const first = scope.stored - values.length;
    for (const [place, value] of turn === this.#turnNumber ? values.entries() : []) {
      this.#named.set(keyText(arrivalKey(run.id, scope.id, scope.position, first + place)), value);
    }
    scope.stored = 0;
  }

  /** Stores bytes to which a value in parts will refer. */
  writePart(key: Uint8Array, value: Uint8Array): void {
    this.#batch.put('arrivals', key, value);
    this.#named.set(keyText(key), value);
  }

  /** The bytes of a value, assembled if it is in parts. */
  readonly read = (value: Uint8Array): Uint8Array => wholeOf(this.parts, value);

  /** The first non-empty part of a value in parts; a packed null if all parts are empty. */
  readonly headOf = (parted: Uint8Array): Uint8Array => {
    for (const part of partsOf(this.parts, parted)) if (part.length > 0) return part;
    return packedNull;
  };

  drop(run: Run, scope: Scope): void {
    for (let i = 0; i < scope.stored; i++) {
      this.#batch.remove('arrivals', arrivalKey(run.id, scope.id, scope.position, i));
    }
    scope.stored = 0;
    scope.inlineArrivals.take();
  }
}
