// Code that both kinds of plugin threads share (thread.ts, concurrent-thread.ts): startup, loading of handlers, and wall-clock time.

import { syncBuiltinESMExports } from 'node:module';
import threads, { type MessagePort, workerData } from 'node:worker_threads';
import type { Configure } from '../wire/host-setup.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import { resultOfError, resultOfFailure, type TaskResult } from '../wire/response.ts';
import { type PayloadCheck, PayloadChecks } from '../wire/schema.ts';
import { type AnyHandler, type Code, CodeError, codeOf, handlerOf, loadCode } from './code.ts';
import { guardKill } from './kill-guard.ts';
import { verifyModules } from './sealed-modules.ts';
import { withStack } from './stack.ts';
import { loadTypeScript } from './typescript.ts';

/** The handler of a command and the check of its payloads. If there is no handler, `refused` is the result of each task. */
export type PreparedCommand =
  | { readonly handler: AnyHandler; readonly check: PayloadCheck | null; readonly refused: null }
  | { readonly handler: null; readonly check: null; readonly refused: TaskResult };

const { generation, plugins } = workerData as Configure;

export { plugins };

for (const plugin of plugins) freezeDeep(plugin.config);
guardKill();
verifyModules(plugins);
loadTypeScript(plugins);
const checks = new PayloadChecks();
/** The difference between the wall clock and the thread's steady clock, `performance.now`, in ms. */
let epochMs = Date.now() - performance.now();

/** Finds the handler of a command. Loads the plugin's code first if this thread has not loaded it. */
export async function prepare(plugin: HostedPlugin, command: string): Promise<PreparedCommand> {
  hidePort();
  try {
    const schema = plugin.commands[command]?.inputSchema;
    const check = schema ? await checks.of(schema) : null;
    const code: Code = codeOf(plugin) ?? (await loadCode(plugin, generation));
    const handler = handlerOf(code, command);
    if (handler !== null) return { handler, check, refused: null };
    return refuse(resultOfFailure(`${plugin.entrypoint} exports no function "${command}"`, true));
  } catch (error) {
    const thrown = error instanceof CodeError ? error.cause : error;
    return refuse(resultOfError(error, withStack(undefined, thrown, plugin.directory)));
  }
}

function refuse(refused: TaskResult): PreparedCommand {
  return { handler: null, check: null, refused };
}

/** Hides the thread's port from plugin code. Otherwise plugin code could forge outcomes or close the port. */
function hidePort(): void {
  if (threads.parentPort === null) return;
  (threads as { parentPort: MessagePort | null }).parentPort = null;
  syncBuiltinESMExports();
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

export function isNothing(answer: unknown): boolean {
  if (answer === undefined) return true;
  if (typeof answer !== 'object' || answer === null) return false;
  for (const _ in answer) return false;
  return Object.getPrototypeOf(answer) === Object.prototype;
}

/** Adjusts `epochMs` if the wall clock was set or has drifted. */
export function followWallClock(): void {
  const drift = Date.now() - performance.now() - epochMs;
  if (Math.abs(drift) > 2) epochMs += drift;
}

let textOfMs = 0;
let text = '';

/** Converts a time of `performance.now` to a wall time as RFC 3339. */
export function deadlineText(atMs: number): string {
  const wallMs = Math.floor(epochMs + atMs);
  if (wallMs !== textOfMs) {
    textOfMs = wallMs;
    text = new Date(wallMs).toISOString();
  }
  return text;
}

function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const item of Object.values(value)) freezeDeep(item);
}
