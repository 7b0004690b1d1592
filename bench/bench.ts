// What a bench is: a function with smoke and real parameters, which gives its figures and the hash of the work it has seen done.
import type { Stage } from './stage.ts';

export type Parameters = { readonly [name: string]: number };

/** Where a figure should be. */
export type Target = { readonly kind: 'at_least' | 'at_most'; readonly value: number };

export type Metric = {
  readonly name: string;
  readonly value: number | string;
  readonly unit: string;
  readonly target?: Target;
};

export type Outcome = {
  readonly metrics: readonly Metric[];
  /** What was really done, as it is found in answers and records; the same in every run with the same parameters. */
  readonly work: unknown;
  /** Circumstances that are printed with the parameters, such as the client that was used. */
  readonly circumstances?: { readonly [name: string]: string };
  /** For people, instead of a line for each metric. */
  readonly table?: string;
  /** Texts that are kept in a folder, such as plots, by their file names. */
  readonly files?: { readonly [name: string]: string };
};

export interface Bench<P extends Parameters = Parameters> {
  readonly name: string;
  /** One line for the list of benches. */
  readonly purpose: string;
  /** Past it the bench is broken off and counts as failed. */
  readonly limitMs: { readonly smoke: number; readonly real: number };
  readonly parameters: { readonly smoke: P; readonly real: P };
  /** What can be measured without the rest, by name. */
  readonly parts?: readonly string[];
  /** Of its parts, only those that are named are run. Throws when the service does not do what is measured. */
  run(parameters: P, stage: Stage, parts: readonly string[]): Promise<Outcome>;
}

export function atLeast(value: number): Target {
  return { kind: 'at_least', value };
}

export function atMost(value: number): Target {
  return { kind: 'at_most', value };
}
