// `concurrency`: how many jobs of a command one thread or persistent process may run at once. The manifest sets it; an instance can
// override it.
import { Type } from '../../runtime/schema-type.ts';
import type { ReportAt } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import type { Command, Manifest } from '../config.ts';
import * as field from '../section/field.ts';
import { entriesOf, type NodePath, nodeAt, numberOf, type SourceNode } from '../source/tree.ts';

export const concurrencyMax = 1024;

/** The schema of `concurrency` in an instance: a number, or a map from command to number. */
export function concurrencySetting(description: string) {
  const expected = `a whole number from 1 to ${concurrencyMax}, or a map from commands to such numbers`;
  const one = field.count(1, 'The number for this command.', concurrencyMax);
  return Type.Union([one, field.mapOf(one, 'By command.')], { expected, description });
}

/** Reports a wanted concurrency that is not allowed. If `command` is null, only the rules for the whole plugin are checked. */
function check(
  manifest: Manifest,
  command: Command | null,
  wanted: number | undefined,
  at: NodePath,
  reportAt: ReportAt,
): void {
  const why = wanted !== undefined && wanted > 1 ? refusal(manifest, command) : null;
  if (why !== null) reportAt(at, `is ${wanted}, but ${why}; it must be 1`);
}

/** Why a command cannot have a concurrency above 1; null if it can. */
function refusal(manifest: Manifest, command: Command | null) {
  if (!manifest.concurrencySafe) return 'the plugin is concurrency_safe: false and runs one job at a time';
  if (manifest.runtime === 'process' && manifest.persistent === undefined)
    return 'the plugin starts a process for each attempt (mode: persistent keeps a process for many jobs)';
  if (command?.retrySafe !== false) return null;
  return `the command "${command.name}" is retry_safe: false, and jobs that run together may have to run again`;
}

/** Reports the commands whose `concurrency` is not allowed. */
export function checkCommands(manifest: Manifest, reportAt: ReportAt): void {
  for (const [index, command] of manifest.commands.entries())
    check(manifest, command, command.concurrency, ['commands', index, 'concurrency'], reportAt);
}

/** Checks `plugins.<name>.concurrency`. `node`: the value of `plugins.<name>`. */
export function checkConcurrency(name: string, manifest: Manifest, node: SourceNode, reportAt: ReportAt): void {
  const setting = nodeAt(node, 'concurrency');
  const path = ['plugins', name, 'concurrency'];
  check(manifest, null, numberOf(setting), path, reportAt);
  for (const [command, { value }] of entriesOf(setting)) {
    const known = manifest.commands.find(each => each.name === command);
    if (known === undefined) reportAt([...path, command], unknownCommand(command, manifest), 'key');
    else check(manifest, known, numberOf(value), [...path, command], reportAt);
  }
}

/** The message about a setting for a command that the plugin does not have. */
export function unknownCommand(command: string, { name, commands }: Manifest): string {
  const names = commands.map(each => each.name);
  return `is not a command of the plugin ${JSON.stringify(name)}${hint(command, names, 'commands')}`;
}

/**
 * The concurrency of each command, by name, if it is above 1; undefined if there is no such command. `node`: the value
 * of `plugins.<name>`.
 */
export function readConcurrency(
  { commands }: Manifest,
  node: SourceNode | undefined,
): { readonly [command: string]: number } | undefined {
  const setting = nodeAt(node, 'concurrency');
  const forAll = numberOf(setting);
  const found: [string, number][] = [];
  for (const { name, concurrency, retrySafe } of commands) {
    const own = forAll === undefined ? numberOf(setting, name) : retrySafe ? forAll : 1;
    const wanted = own ?? concurrency ?? 1;
    if (wanted > 1) found.push([name, wanted]);
  }
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
