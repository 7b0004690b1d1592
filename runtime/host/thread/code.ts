// Loads the code of worker plugins into a thread. The code is never reloaded, because a new generation of the configuration gets new
// threads.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Helpers } from '../api/plugin-api.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import type { AnyRequest } from '../wire/request.ts';
import { describe } from '../wire/response.ts';

export type AnyHandler = (request: AnyRequest, helpers: Helpers) => unknown;
export type Code = { readonly [command: string]: unknown };

/** Thrown if a plugin's module cannot be loaded. As with an error of a handler, `retry: false` means that the job is not retried. */
export class CodeError extends Error {
  readonly retry: boolean;

  /** `isThere`: whether the file exists. A missing file may be about to be replaced, so the next attempt may find it. */
  constructor(entrypoint: string, isThere: boolean, cause: unknown) {
    super(`${entrypoint} cannot be loaded: ${describe(cause)}`, { cause });
    this.retry = !isThere || !isFinal(cause);
  }
}

/** Matches Node's error codes for a file or import that cannot be loaded. A module's own errors rarely have such a code. */
const loaderCode = /^(ERR_(MODULE|UNKNOWN|UNSUPPORTED|PACKAGE|INVALID|IMPORT|REQUIRE)_|MODULE_NOT_FOUND$)/;

/**
 * Whether the next attempt would probably fail in the same way: Node cannot load a file or import, the code has a syntax error or
 * uses a variable that does not exist, or the error has `retry: false`.
 */
function isFinal(error: unknown): boolean {
  const { code, retry } = (error ?? {}) as { readonly code?: unknown; readonly retry?: unknown };
  if (retry === false || (typeof code === 'string' && loaderCode.test(code))) return true;
  return error instanceof SyntaxError || error instanceof ReferenceError;
}

const loaded = new Map<string, Code>();
let loads = 0;

export function codeOf(plugin: HostedPlugin): Code | undefined {
  return loaded.get(plugin.instance);
}

/**
 * Imports the plugin's module. If it is an ES module, each instance gets its own copy. CommonJS modules, and the modules that the
 * plugin's module imports, are usually shared by the instances in a thread.
 */
export async function loadCode(plugin: HostedPlugin, generation: number): Promise<Code> {
  const file = join(plugin.directory, plugin.entrypoint);
  const url = pathToFileURL(file);
  url.search = `generation=${generation}&instance=${encodeURIComponent(plugin.instance)}&load=${++loads}`;
  try {
    const code = (await import(url.href)) as Code;
    loaded.set(plugin.instance, code);
    return code;
  } catch (error) {
    throw new CodeError(plugin.entrypoint, existsSync(file), error);
  }
}

/** The plugin's function for a command: a named export, or a member of the default export. Null if there is no such function. */
export function handlerOf(code: Code, command: string): AnyHandler | null {
  const named = code[command];
  if (typeof named === 'function') return named as AnyHandler;
  const whole = code['default'] as Code | null | undefined;
  const member = typeof whole === 'object' && whole !== null ? whole[command] : undefined;
  return typeof member === 'function' ? (member as AnyHandler) : null;
}
