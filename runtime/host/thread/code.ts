// The code of worker plugins that a thread has loaded. A thread lives no longer than its generation of the configuration.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Helpers } from '../api/plugin-api.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import type { AnyRequest } from '../wire/request.ts';
import { describe } from '../wire/response.ts';

/** The function of a command. */
export type AnyHandler = (request: AnyRequest, helpers: Helpers) => unknown;
export type Code = { readonly [command: string]: unknown };

/** A plugin's module cannot be loaded. With `retry: false`, as on an error of a handler, the job is not retried. */
export class CodeError extends Error {
  readonly retry: boolean;

  /** If the file is missing it may be about to be replaced: the next attempt may find it. */
  constructor(entrypoint: string, isThere: boolean, cause: unknown) {
    super(`${entrypoint} cannot be loaded: ${describe(cause)}`, { cause });
    this.retry = !isThere || !isFinal(cause);
  }
}

/** Node's error codes for a file or import that it cannot load. Errors that a module's code throws have other codes. */
const loaderCode = /^(ERR_(MODULE|UNKNOWN|UNSUPPORTED|PACKAGE|INVALID|IMPORT|REQUIRE)_|MODULE_NOT_FOUND$)/;

/** Whether the next attempt would fail in the same way: a syntax error, or an import or name that does not exist. */
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

/** Imports the module; each instance gets its own, so that module variables are not shared between instances. */
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

/** The function of a command: a named export, or a member of the CommonJS exports. */
export function handlerOf(code: Code, command: string): AnyHandler | null {
  const named = code[command];
  if (typeof named === 'function') return named as AnyHandler;
  const whole = code['default'] as Code | null | undefined;
  const member = typeof whole === 'object' && whole !== null ? whole[command] : undefined;
  return typeof member === 'function' ? (member as AnyHandler) : null;
}
