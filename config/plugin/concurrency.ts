// `concurrency`: how many jobs of a command one thread or persistent process may run at once. The manifest sets it; an instance can override it.
import type { ConfigProblem, Report } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import type { Command, Manifest } from '../config.ts';
import * as field from '../section/field.ts';
import {
  entriesOf,
  type NodePath,
  nodeAt,
  numberOf,
  placesAt,
  type SourceLocation,
  type SourceNode,
} from '../source/tree.ts';

export const concurrencyMax = 1024;

/** The field of a command in a manifest. */
export function concurrencyField(description: string) {
  return field.count(1, description, concurrencyMax);
}

/** The field of an instance: a number, or a map from command to number. */
export function concurrencySetting(description: string) {
  const expected = `a whole number from 1 to ${concurrencyMax}, or a map from commands to such numbers`;
  const one = concurrencyField('Of the command.');
  return field.either([one, field.mapOf(one, 'By command.')], { expected, description });
}

/** Why a command cannot have a concurrency above 1; null if it can. `command` null: any command of the plugin. */
function refusal(manifest: Pick<Manifest, 'concurrencySafe' | 'runtime' | 'persistent'>, command: Command | null) {
  if (!manifest.concurrencySafe) return 'the plugin is concurrency_safe: false and runs one job at a time';
  if (manifest.runtime === 'process' && manifest.persistent === undefined)
    return 'the plugin starts a process for each attempt (mode: persistent keeps a process for many jobs)';
  if (command?.retrySafe !== false) return null;
  return `the command "${command.name}" is retry_safe: false, and jobs that run together may have to run again`;
}

/** Reports commands of a manifest that cannot have their `concurrency`. `root`: the tree of the manifest. */
export function checkCommands(
  root: SourceNode,
  manifest: Pick<Manifest, 'concurrencySafe' | 'runtime' | 'persistent' | 'commands'>,
  report: Report,
): void {
  for (const [index, command] of manifest.commands.entries()) {
    const { concurrency = 1 } = command;
    const why = concurrency > 1 ? refusal(manifest, command) : null;
    if (why === null) continue;
    const path: NodePath = ['commands', index, 'concurrency'];
    report({ place: placesAt(root, path).value, path, message: refusedMessage(concurrency, why) });
  }
}

/** The problems of `plugins.<name>.concurrency`. */
export function concurrencyProblems(name: string, manifest: Manifest, node: SourceNode): ConfigProblem[] {
  const found: ConfigProblem[] = [];
  const setting = nodeAt(node, 'concurrency');
  const path = ['plugins', name, 'concurrency'];
  const refuse = (place: SourceLocation, at: readonly string[], message: string) =>
    found.push({ place, path: at, message });
  const forAll = numberOf(setting);
  if (setting !== undefined && forAll !== undefined && forAll > 1) {
    const why = refusal(manifest, null);
    if (why !== null) refuse(setting.place, path, refusedMessage(forAll, why));
  }
  const commands = manifest.commands.map(command => command.name);
  for (const [command, { keyPlace, value }] of entriesOf(setting)) {
    const known = manifest.commands.find(each => each.name === command);
    const wanted = numberOf(value) ?? 1;
    if (known === undefined) {
      const message = `is not a command of the plugin ${JSON.stringify(manifest.name)}${hint(command, commands, 'commands')}`;
      refuse(keyPlace, [...path, command], message);
      continue;
    }
    const why = wanted > 1 ? refusal(manifest, known) : null;
    if (why !== null) refuse(value.place, [...path, command], refusedMessage(wanted, why));
  }
  return found;
}

function refusedMessage(wanted: number, why: string): string {
  return `is ${wanted}, but ${why}; it must be 1`;
}

/** Command -> concurrency, for commands above 1; undefined if there is none. `node`: the value of `plugins.<name>`. */
export function readConcurrency(
  { commands }: Manifest,
  node: SourceNode | undefined,
): { readonly [command: string]: number } | undefined {
  const setting = nodeAt(node, 'concurrency');
  const forAll = numberOf(setting);
  const found: [string, number][] = [];
  for (const { name, concurrency, retrySafe } of commands) {
    const own = forAll === undefined ? numberOf(nodeAt(setting, name)) : retrySafe ? forAll : 1;
    const wanted = own ?? concurrency ?? 1;
    if (wanted > 1) found.push([name, wanted]);
  }
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
