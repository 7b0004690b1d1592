// An evaluation is incremental work on large packed data: it reads the data, or stores it in parts. It may take several turns. Its result is
// kept for later calls.
import type { PartReader } from '../../../runtime/parted.ts';
import type { Sliced } from '../../../runtime/slices.ts';

/** Thrown when an evaluation must stop: the turn is spent, or memory has no room. A request for the same result continues the evaluation. */
export class UnfinishedEvaluation extends Error {}

/** The stored parts and the limits that evaluations depend on. */
export type EvaluationLimits = {
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

/**
 * The maximum number of unfinished evaluations that are kept in memory. The same maximum applies to large elements whose jobs are being
 * made.
 */
export const evaluationsMax = 4;

const nothing: PartReader = { get: () => undefined, has: () => false };
/** The `EvaluationLimits` of evaluations that have no time limit, and whose data is not in parts. */
export const unlimited: EvaluationLimits = {
  parts: nothing,
  isSpent: () => false,
  wholeBytesMax,
  stepBytes: stepBytesMax,
};

export class Evaluations {
  readonly #isSpent: () => boolean;
  readonly #evaluations = new Map<
    string,
    { readonly work: Sliced<unknown>; found: { readonly value: unknown } | null }
  >();

  constructor({ isSpent }: EvaluationLimits) {
    this.#isSpent = isSpent;
  }

  /**
   * The result of the work with this name. Each call advances unfinished work by at least one step. Throws UnfinishedEvaluation if
   * the turn is spent before the work is done.
   */
  find<T>(name: string, begin: () => Sliced<T>): T {
    let evaluation = this.#evaluations.get(name);
    if (!evaluation) {
      evaluation = { work: begin(), found: null };
      this.#evaluations.set(name, evaluation);
    }
    while (evaluation.found === null) {
      const step = evaluation.work.next();
      if (step.done) evaluation.found = { value: step.value };
      else if (this.#isSpent()) throw new UnfinishedEvaluation();
    }
    return evaluation.found.value as T;
  }
}
