// Code that both kinds of plugin threads use: they start, load a handler, and tell the time.

import { syncBuiltinESMExports } from 'node:module';
import threads, { type MessagePort, workerData } from 'node:worker_threads';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import { resultOfError, resultOfFailure, type TaskResult } from '../wire/response.ts';
import { type PayloadCheck, PayloadChecks } from '../wire/schema.ts';
import { type AnyHandler, type Code, codeOf, handlerOf, loadCode } from './code.ts';
import { guardKill } from './kill-guard.ts';
import { verifyModules } from './sealed-modules.ts';
import { loadTypeScript } from './typescript.ts';

/** The data that every thread starts with. */
export type ThreadData = { readonly generation: number; readonly plugins: readonly HostedPlugin[] };

/** The handler of a command and the check of its payloads; if there is no handler, the result of each of its tasks. */
export type Prepared =
  | { readonly handler: AnyHandler; readonly check: PayloadCheck | null; readonly refused: null }
  | { readonly handler: null; readonly check: null; readonly refused: TaskResult };

const { generation, plugins } = workerData as ThreadData;

export { plugins };

for (const plugin of plugins) freezeDeep(plugin.config);
guardKill();
verifyModules(plugins);
loadTypeScript(plugins);
const checks = new PayloadChecks();
/** Wall time minus the thread's own steady clock. */
let epochMs = Date.now() - performance.now();

/** Loads the plugin's code unless it is loaded already. */
export async function prepare(plugin: HostedPlugin, command: string): Promise<Prepared> {
  hidePort();
  try {
    const schema = plugin.commands[command]?.inputSchema;
    const check = schema ? await checks.of(schema) : null;
    const code: Code = codeOf(plugin) ?? (await loadCode(plugin, generation));
    const handler = handlerOf(code, command);
    if (handler !== null) return { handler, check, refused: null };
    return refuse(resultOfFailure(`${plugin.entrypoint} exports no function "${command}"`, true));
  } catch (error) {
    return refuse(resultOfError(error));
  }
}

function refuse(refused: TaskResult): Prepared {
  return { handler: null, check: null, refused };
}

/** Hides the thread's port from plugin code, which could otherwise forge outcomes or close the port. */
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

/** Follows changes of the wall clock. */
export function followWallClock(): void {
  const drift = Date.now() - performance.now() - epochMs;
  if (Math.abs(drift) > 2) epochMs += drift;
}

let textOfMs = 0;
let text = '';

/** A time of the thread's steady clock as RFC 3339. */
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
