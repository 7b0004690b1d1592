// Loads the code of worker plugins into a thread, once: a new generation of the configuration gets new threads.
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

/** Matches Node's error codes for a file or import that it cannot load. Errors that a module's code throws have other codes. */
const loaderCode = /^(ERR_(MODULE|UNKNOWN|UNSUPPORTED|PACKAGE|INVALID|IMPORT|REQUIRE)_|MODULE_NOT_FOUND$)/;

/**
 * Whether the next attempt would fail in the same way: a syntax error, an import or name that does not exist, or an error with `retry:
 * false`.
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

/** Imports the plugin's module. Each instance gets a copy of its own, so that instances do not share module variables. */
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

/** The plugin's function for a command: a named export, or a member of the CommonJS exports. Null if there is none. */
export function handlerOf(code: Code, command: string): AnyHandler | null {
  const named = code[command];
  if (typeof named === 'function') return named as AnyHandler;
  const whole = code['default'] as Code | null | undefined;
  const member = typeof whole === 'object' && whole !== null ? whole[command] : undefined;
  return typeof member === 'function' ? (member as AnyHandler) : null;
}
