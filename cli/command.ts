// The declaration of a command. The program, its help, its reference and its completions are derived from it.
import { type Command, Option } from 'commander';
import type { Io } from './io.ts';
import type { Output } from './output.ts';

export type CommandCall<Options extends object = object> = {
  readonly options: Options;
  /** In the order of `usage`. */
  readonly args: readonly string[];
  readonly io: Io;
  readonly out: Output;
  /** The whole program, for commands that describe it. */
  readonly program: Command;
};

/** `Call`: what `run` gets. */
export type Declaration<Call> = {
  /** Its words, then its arguments: `vault secret set <name>`. All words but the last are groups. */
  readonly usage: string;
  readonly description: string;
  /** Whole command lines, shown below the help. */
  readonly examples: readonly [string, ...string[]];
  /** In addition to `--json`, which every command has. */
  readonly options?: readonly Option[];
  /** Exit statuses whose meaning differs from the common one (`exit-status.ts`). */
  readonly statuses?: string;
  /** Returns the exit status; no value means 0. It imports modules when it runs, so that other commands do not load them. */
  // biome-ignore lint/suspicious/noConfusingVoidType: the type of a function without a return statement
  readonly run: (call: Call) => number | void | Promise<number | void>;
};

export type CommandDeclaration = Declaration<CommandCall<never>> & { readonly options: readonly Option[] };

/** A declaration whose `run` has typed options. */
export function command<Options extends object = object>(
  declaration: Declaration<CommandCall<Options>>,
): CommandDeclaration {
  return { options: [], ...declaration };
}

/** `{ config?: string }`. A new object for each command, because commander keeps state in it. */
export function configOption(): Option {
  return new Option('--config <path>', 'the configuration file, or a directory that contains config.yaml');
}
