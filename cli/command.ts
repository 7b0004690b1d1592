// How a command of the command line is declared; the programme, its help, its reference and its completions follow from it.
import { type Command, Option } from 'commander';
import type { Io } from './io.ts';
import type { Output } from './output.ts';

export type CommandCall<Options extends object = object> = {
  readonly options: Options;
  /** In the order of `usage`; an optional one that was not given is undefined. */
  readonly args: readonly (string | undefined)[];
  readonly io: Io;
  readonly out: Output;
  /** The whole programme, for those who describe it. */
  readonly program: Command;
};

export type CommandDeclaration = {
  /** Its words, then its arguments: `vault secret set <name>`. Words before the last are groups. */
  readonly usage: string;
  readonly description: string;
  /** Whole command lines, shown below the help. */
  readonly examples: readonly [string, ...string[]];
  /** Beside `--json`, which every command has. */
  readonly options: readonly Option[];
  /** What a command's exit statuses mean where the common ones (`exit-status.ts`) do not say it. */
  readonly statuses?: string;
  /** Resolves with the exit status. What it needs is imported here, so that other commands need not load it. */
  readonly run: (call: CommandCall<never>) => number | Promise<number>;
};

/** A declaration whose `run` knows its options by type, as commander's parsers leave them. */
export function command<Options extends object = object>(
  declaration: Omit<CommandDeclaration, 'run'> & {
    readonly run: (call: CommandCall<Options>) => number | Promise<number>;
  },
): CommandDeclaration {
  return declaration;
}

/** `{ config?: string }`. A new one each time: commander keeps state in it. */
export function configOption(): Option {
  return new Option('--config <path>', 'the configuration file, or a directory that contains config.yaml');
}
