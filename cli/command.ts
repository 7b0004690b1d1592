// The declaration of a command, from which the program, its help, its reference and its completions follow.
import { type Command, Option } from 'commander';
import type { Io } from './io.ts';
import type { Output } from './output.ts';

export type CommandCall<Options extends object = object> = {
  readonly options: Options;
  /** In the order of `usage`; undefined: an optional argument that was not given. */
  readonly args: readonly (string | undefined)[];
  readonly io: Io;
  readonly out: Output;
  /** The whole program, for commands that describe it. */
  readonly program: Command;
};

export type CommandDeclaration = {
  /** Its words, then its arguments: `vault secret set <name>`. All words but the last are groups. */
  readonly usage: string;
  readonly description: string;
  /** Whole command lines, shown below the help. */
  readonly examples: readonly [string, ...string[]];
  /** In addition to `--json`, which every command has. */
  readonly options: readonly Option[];
  /** Exit statuses whose meaning differs from the common one (`exit-status.ts`). */
  readonly statuses?: string;
  /** Resolves with the exit status. It imports what it needs when it runs, so that other commands need not load it. */
  readonly run: (call: CommandCall<never>) => number | Promise<number>;
};

/** A declaration whose `run` has typed options. */
export function command<Options extends object = object>(
  declaration: Omit<CommandDeclaration, 'run'> & {
    readonly run: (call: CommandCall<Options>) => number | Promise<number>;
  },
): CommandDeclaration {
  return declaration;
}

/** `{ config?: string }`. A new object for each command, because commander keeps state in it. */
export function configOption(): Option {
  return new Option('--config <path>', 'the configuration file, or a directory that contains config.yaml');
}
