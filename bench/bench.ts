// The type of a bench. A bench has parameters for `smoke` and for `real`, and a function that returns metrics and the
// work that was really done.
import type { Stage } from './stage.ts';

export type Parameters = { readonly [name: string]: number };

/** The bound that a figure should meet. */
export type Target = { readonly kind: 'at_least' | 'at_most'; readonly value: number };

export type Metric = {
  readonly name: string;
  readonly value: number | string;
  readonly unit: string;
  readonly target?: Target;
};

export type Outcome = {
  readonly metrics: readonly Metric[];
  /**
   * The work that was really done, as answers and records show it. It is equal in all runs with the same parameters.
   */
  readonly work: unknown;
  /** Circumstances that are printed with the parameters, such as the client that was used. */
  readonly circumstances?: { readonly [name: string]: string };
  /** A table for people, printed instead of one line per metric. */
  readonly table?: string;
  /** Texts that are written into a folder, such as plots, by file name. */
  readonly files?: { readonly [name: string]: string };
};

export interface Bench<P extends Parameters = Parameters> {
  readonly name: string;
  /** One line for the list of benches. */
  readonly purpose: string;
  /** A bench that takes longer is aborted and counts as failed. */
  readonly limitMs: { readonly smoke: number; readonly real: number };
  readonly parameters: { readonly smoke: P; readonly real: P };
  /** The names of the parts that can be measured alone. */
  readonly parts?: readonly string[];
  /** Runs only the given parts. Throws if the service does not do the work that is measured. */
  run(parameters: P, stage: Stage, parts: readonly string[]): Promise<Outcome>;
}

export function atLeast(value: number): Target {
  return { kind: 'at_least', value };
}

export function atMost(value: number): Target {
  return { kind: 'at_most', value };
}
