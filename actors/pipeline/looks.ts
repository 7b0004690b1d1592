// Looks into large data: a look goes on over as many turns as it takes. What it has found stays with the data.
import type { PartReader } from '../../runtime/parted.ts';
import type { Sliced } from '../../runtime/slices.ts';

/** Thrown by a look: the turn has had its time, and the look goes on when it is asked for again. */
export class LookGoesOn extends Error {}

/** What looks depend on. */
export type Sight = {
  readonly parts: PartReader;
  /** Whether the turn has had its time. */
  readonly isSpent: () => boolean;
  /** Data that takes more is looked at in steps, of about so many bytes. */
  readonly wholeBytesMax: number;
  readonly stepBytes: number;
};

/** Packed data is decoded whole when it takes no more than this. */
export const wholeBytesMax = 4096;
/** A step takes a few milliseconds at most: most of it is the decoding of numbers of one byte each. */
export const stepBytesMax = 64 * 2 ** 10;

const nothing: PartReader = { get: () => undefined, has: () => false };
/** Where nothing is in parts, and nothing has to wait. */
export const plainSight: Sight = { parts: nothing, isSpent: () => false, wholeBytesMax, stepBytes: stepBytesMax };

export class Looks {
  readonly #isSpent: () => boolean;
  readonly #looks = new Map<string, { readonly work: Sliced<unknown>; found: { readonly value: unknown } | null }>();

  constructor({ isSpent }: Sight) {
    this.#isSpent = isSpent;
  }

  /** What the work finds, by its name. Each call takes it a step further at least. Throws LookGoesOn. */
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
