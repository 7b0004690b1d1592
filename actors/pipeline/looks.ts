// A look is an incremental read of large packed data. It may take several turns. Its result is kept for later calls.
import type { PartReader } from '../../runtime/parted.ts';
import type { Sliced } from '../../runtime/slices.ts';

/** Thrown when a look needs another turn. The look continues when the same result is requested again. */
export class LookGoesOn extends Error {}

/** The stored parts and the limits that looks depend on. */
export type Sight = {
  readonly parts: PartReader;
  /** Whether the turn has no time left, or has created too many bytes. */
  readonly isSpent: () => boolean;
  /** Data up to this size is decoded whole. Larger data is read in steps of about `stepBytes`. */
  readonly wholeBytesMax: number;
  readonly stepBytes: number;
};

export const wholeBytesMax = 4096;
/** The maximum of `stepBytes`. */
export const stepBytesMax = 64 * 2 ** 10;

const nothing: PartReader = { get: () => undefined, has: () => false };
/** The `Sight` of looks that have no limit of time, and whose data is not in parts. */
export const plainSight: Sight = { parts: nothing, isSpent: () => false, wholeBytesMax, stepBytes: stepBytesMax };

export class Looks {
  readonly #isSpent: () => boolean;
  readonly #looks = new Map<string, { readonly work: Sliced<unknown>; found: { readonly value: unknown } | null }>();

  constructor({ isSpent }: Sight) {
    this.#isSpent = isSpent;
  }

  /**
   * The result of the work with this name. Each call advances unfinished work by at least one step. Throws LookGoesOn if the turn is spent
   * before the work is done.
   */
  find<T>(name: string, begin: () => Sliced<T>): T {
    let look = this.#looks.get(name);
    if (!look) {
      look = { work: begin(), found: null };
      this.#looks.set(name, look);
    }
    while (look.found === null) {
      const step = look.work.next();
      if (step.done) look.found = { value: step.value };
      else if (this.#isSpent()) throw new LookGoesOn();
    }
    return look.found.value as T;
  }
}
