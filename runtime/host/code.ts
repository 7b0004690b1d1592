// The code of worker plugins, as one thread has it loaded. A thread lives no longer than its configuration's generation.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Handler } from './plugin-api.ts';
import type { HostedPlugin } from './port.ts';
import { describe } from './response.ts';

export type Code = { readonly [command: string]: unknown };

/** A plugin's module that cannot be loaded; another try may find it repaired. */
export class CodeError extends Error {}

const loaded = new Map<string, Code>();
let loads = 0;

export function codeOf(plugin: HostedPlugin): Code | undefined {
  return loaded.get(plugin.instance);
}

/** Imports the module; each instance gets its own, so that module variables are not shared between instances. */
export async function loadCode(plugin: HostedPlugin, generation: number): Promise<Code> {
  const url = pathToFileURL(join(plugin.directory, plugin.entrypoint));
  url.search = `generation=${generation}&instance=${encodeURIComponent(plugin.instance)}&load=${++loads}`;
  try {
    const code = (await import(url.href)) as Code;
    loaded.set(plugin.instance, code);
    return code;
  } catch (error) {
    throw new CodeError(`${plugin.entrypoint} cannot be loaded: ${describe(error)}`, { cause: error });
  }
}

/** The function of a command: a named export, or a member of what CommonJS exports. */
export function handlerOf(code: Code, command: string): Handler | null {
  const named = code[command];
  if (typeof named === 'function') return named as Handler;
  const whole = code['default'] as Code | null | undefined;
  const member = typeof whole === 'object' && whole !== null ? whole[command] : undefined;
  return typeof member === 'function' ? (member as Handler) : null;
}
