// A thread of the pool: runs the tasks of a frame of worker plugins, one after another.

import { syncBuiltinESMExports } from 'node:module';
import threads, { type MessagePort, threadId, workerData } from 'node:worker_threads';
import { steadyUs } from '../clock.ts';
import { type Json, unpack } from '../packing.ts';
import { type AnyHandler, type Code, codeOf, handlerOf, loadCode } from './code.ts';
import { Deadline } from './deadline.ts';
import { Frame } from './frame.ts';
import { guardKill } from './guard.ts';
import { Kit } from './kit.ts';
import { Mask } from './mask.ts';
import type { HostedPlugin } from './port.ts';
import { makeRequest } from './request.ts';
import { type Settled, settleAnswer, settledOk, settleFailure, settleThrown, timeOutReason } from './response.ts';
import { type PayloadCheck, PayloadChecks } from './schema.ts';
import { verifyModules } from './sealed-modules.ts';
import { type OutcomeHead, outcomeHeadBytes, writeOutcome } from './settlement.ts';
import { Slot } from './slot.ts';
import { FrameState } from './state.ts';
import { loadTypeScript } from './typescript.ts';

/** What every thread of a pool is given. */
export type ThreadData = { readonly generation: number; readonly plugins: readonly HostedPlugin[] };
/** The thread has loaded its own code: from now on it can be stopped without harm to the process. */
export type Loaded = { readonly loaded: number };
/** An outcome that found no room in the frame's memory. */
export type LateOutcome = { readonly frameId: number; readonly written: Uint8Array };

const { generation, plugins } = workerData as ThreadData;
const port = threads.parentPort!;
for (const plugin of plugins) freezeDeep(plugin.config);
guardKill();
verifyModules(plugins);
loadTypeScript(plugins);
const checks = new PayloadChecks();
const deadline = new Deadline();
/** Wall time minus the thread's own steady clock. */
let epochMs = Date.now() - performance.now();

port.postMessage({ loaded: threadId } satisfies Loaded);

/** The task that piscina runs: one frame. */
export async function runFrame(shared: SharedArrayBuffer): Promise<void> {
  const slot = new Slot(shared);
  slot.enter('loading', threadId);
  let task = slot.claim();
  if (task < 0) return;
  const frame = new Frame(slot.frame);
  const plugin = plugins[frame.head.plugin]!;
  let handler: AnyHandler | null = null;
  let check: PayloadCheck | null = null;
  let refused: Settled | null = null;
  hidePort();
  try {
    const schema = plugin.commands[frame.command]?.inputSchema;
    if (schema) check = await checks.of(schema);
    const code: Code = codeOf(plugin) ?? (await loadCode(plugin, generation));
    handler = handlerOf(code, frame.command);
    if (handler === null) refused = settleFailure(`${plugin.entrypoint} exports no function "${frame.command}"`, true);
  } catch (error) {
    refused = settleThrown(error);
  }
  const mask = Mask.of(frame.secrets);
  const state = new FrameState(frame.state);
  const { deadlineMs } = frame.head;
  const drift = Date.now() - performance.now() - epochMs;
  if (Math.abs(drift) > 2) epochMs += drift;
  slot.enter('running', threadId);

  for (let startedMs = performance.now(); task >= 0; task = slot.claim()) {
    let settled = refused;
    let endedMs = startedMs;
    if (settled === null) {
      const payload = unpack<Json>(frame.payload(task));
      const mismatch = check === null ? null : check(payload);
      if (mismatch !== null) settled = settleFailure(mismatch, true);
      else {
        const request = makeRequest(frame, task, plugin, payload, state.fresh(), deadlineText(startedMs + deadlineMs));
        const kit = new Kit();
        try {
          let answer: unknown = handler!(request, kit);
          if (isThenable(answer)) answer = await deadline.race(answer, startedMs + deadlineMs, kit);
          const aside = kit.close();
          const isQuiet = aside === null && isNothing(answer);
          settled = isQuiet ? settledOk : settleAnswer(answer, false, aside ?? undefined, mask);
        } catch (error) {
          settled = settleThrown(error, kit.close() ?? undefined, mask);
        }
        endedMs = performance.now();
        if (endedMs - startedMs > deadlineMs) {
          settled = settleFailure(timeOutReason(deadlineMs), false, kit.close() ?? undefined, 'timed_out', mask);
        } else if (settled.stateUpdates !== null) {
          settled = state.settle(settled);
        }
      }
    }
    publish(slot, frame.head.frameId, task, settled, startedMs, endedMs);
    startedMs = endedMs;
  }
}

/** From plugin code: what it said there the host would take for outcomes, and what is closed carries none. */
function hidePort(): void {
  if (threads.parentPort === null) return;
  (threads as { parentPort: MessagePort | null }).parentPort = null;
  syncBuiltinESMExports();
}

function publish(
  slot: Slot,
  frameId: number,
  task: number,
  settled: Settled,
  startedMs: number,
  endedMs: number,
): void {
  const head: OutcomeHead = {
    task,
    verdict: settled.verdict,
    permanent: settled.permanent,
    startedUs: steadyUs(startedMs),
    runUs: Math.round((endedMs - startedMs) * 1000),
  };
  if (!slot.publish(head, settled.body)) {
    const room = Buffer.allocUnsafeSlow(outcomeHeadBytes + settled.body.length);
    const written = room.subarray(0, writeOutcome(room, 0, head, settled.body));
    // Handed over, not copied: it may be large.
    port.postMessage({ frameId, written } satisfies LateOutcome, [room.buffer]);
  }
  slot.countAnswered();
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function isNothing(answer: unknown): boolean {
  if (answer === undefined) return true;
  if (typeof answer !== 'object' || answer === null) return false;
  for (const _ in answer) return false;
  return Object.getPrototypeOf(answer) === Object.prototype;
}

let textOfMs = 0;
let text = '';

function deadlineText(atMs: number): string {
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
