// The declaration of a command. The program and its help, docs/cli.md, and the shell completions are derived from the
// declarations.
import { type Command, Option } from 'commander';
import type { Io } from './io.ts';
import type { Output } from './output.ts';

export type CommandCall<Options extends object = object> = {
  readonly options: Options;
  /** The values of the arguments, in the order of `usage`. */
  readonly args: readonly string[];
  readonly io: Io;
  readonly out: Output;
  /** The whole program, for commands that describe it. */
  readonly program: Command;
};

export type Declaration<Call> = {
  /**
   * The words of the command, then its arguments, as in `vault secret set <name>`, where `vault` and `vault secret` are groups of
   * commands.
   */
  readonly usage: string;
  readonly description: string;
  /** Whole command lines, shown below the help. */
  readonly examples: readonly [string, ...string[]];
  /** The options besides `--json`, which every command has. */
  readonly options?: readonly Option[];
  /** Exit statuses whose meaning differs from the common one (`exit-status.ts`). */
  readonly statuses?: string;
  /**
   * Runs the command and returns its exit status; no value means 0. Large modules are imported inside this function, so
   * that other commands do not load them.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: the type of a function without a return statement
  readonly run: (call: Call) => number | void | Promise<number | void>;
};

export type CommandDeclaration = Declaration<CommandCall<never>> & { readonly options: readonly Option[] };

/** Options whose values are texts. */
export type TextOptions<Names extends string> = { readonly [Name in Names]?: string };

/** Declares a command whose `run` gets options of the type `Options`. */
export function command<Options extends object = object>(
  declaration: Declaration<CommandCall<Options>>,
): CommandDeclaration {
  return { options: [], ...declaration };
}

/** The option `--config`, from which commander makes `{ config?: string }`. */
export function configOption(): Option {
  return new Option('--config <path>', 'the configuration file, or a directory that contains config.yaml');
}
