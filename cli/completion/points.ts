// The program as a flat list of completion points, from which the script of each shell is generated.
import type { Command, Option } from 'commander';

export type Word = { readonly text: string; readonly description: string };

export type CompletedOption = Word & {
  /** `none`: no value. `words`: one of these. `path`: a file or directory. `free`: any text. */
  readonly value: 'none' | 'words' | 'path' | 'free';
  readonly words: readonly string[];
};

export type CompletionPoint = {
  /** The preceding words, separated by spaces; empty at the start. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly CompletedOption[];
  /** Whether an argument at this point is a path. */
  readonly takesPath: boolean;
};

/** Every group and every command. */
export function completionPoints(program: Command): CompletionPoint[] {
  return walk(program, '');
}

function walk(command: Command, path: string): CompletionPoint[] {
  const help = command.createHelp();
  const commands = command.commands.map(inner => ({ text: inner.name(), description: inner.description() }));
  const options = help.visibleOptions(command).flatMap(completedOptions);
  const takesPath = command.registeredArguments.some(argument => isPath(argument.name()));
  const inner = command.commands.flatMap(next => walk(next, path === '' ? next.name() : `${path} ${next.name()}`));
  return [{ path, commands, options, takesPath }, ...inner];
}

function completedOptions(option: Option): CompletedOption[] {
  const { long, description, argChoices: words = [], flags } = option;
  if (!long) return [];
  const [, valueName] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? [];
  if (valueName === undefined) return [{ text: long, description, value: 'none', words: [] }];
  if (words.length > 0) return [{ text: long, description, value: 'words', words }];
  return [{ text: long, description, value: isPath(valueName) ? 'path' : 'free', words: [] }];
}

function isPath(name: string): boolean {
  return name === 'path' || name === 'directory';
}

/** Each as `path option`, for a shell's `case`. */
export function optionsWith(places: readonly CompletionPoint[], value: CompletedOption['value']): string[] {
  return places.flatMap(({ path, options }) =>
    options.filter(option => option.value === value).map(({ text }) => `${path} ${text}`),
  );
}

/** Each as `path word`, for a shell's `case`. */
export function commandPaths(places: readonly CompletionPoint[]): string[] {
  return places.flatMap(({ path, commands }) => commands.map(({ text }) => `${path} ${text}`));
}
