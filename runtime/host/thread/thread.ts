// A thread of the pool runs frames of worker plugins, one task after another.

import threads, { type MessagePort, threadId } from 'node:worker_threads';
import { type Json, unpack } from '../../packing.ts';
import { FrameReader } from '../wire/frame.ts';
import { LearnedMask, type Mask } from '../wire/mask.ts';
import { encodeOutcomes, outcomeOfRun } from '../wire/outcome-message.ts';
import type { HostedPlugin, Outcome } from '../wire/plugin-host.ts';
import { type AnyRequest, makeRequest } from '../wire/request.ts';
import { okResult, resultOfAnswer, resultOfError, resultOfFailure, timeOutReason } from '../wire/response.ts';
import { SharedFrame } from '../wire/shared-frame.ts';
import { FrameState } from '../wire/state.ts';
import { Deadline } from './deadline.ts';
import { HandlerKit } from './handler-kit.ts';
import { withStack } from './stack.ts';
import { deadlineText, followWallClock, isNothing, isThenable, plugins, prepare } from './thread-setup.ts';

/** Reports that the thread has loaded its own code. From now on the thread can be stopped safely. */
export type Loaded = { readonly loaded: number };
/**
 * Reports an outcome that is not in the memory of its frame (wire/shared-frame.ts), because it did not fit, or because it has state updates and an
 * earlier one with state updates did not fit.
 */
export type LateOutcome = { readonly frameId: number; readonly written: Uint8Array };

/** Tells a thread to cancel a task. `cancel`: the id of the task's frame; for a concurrent thread, the frame's ticket. */
export type CancelTask = { readonly cancel: number; readonly task: number; readonly reason: string };

const port = threads.parentPort!;
const deadline = new Deadline();
/** The latest task with an async handler: its frame, its position in the frame, and its helpers. */
let current: { readonly frameId: number; readonly task: number; readonly kit: HandlerKit } | null = null;
/**
 * The secrets of recent frames, by the directory of their plugin. They are kept because module variables keep values from one frame to the
 * next. They are kept by directory because the instances of a plugin can share modules.
 */
const learned = new Map<string, LearnedMask>();

port.postMessage({ loaded: threadId } satisfies Loaded);

/**
 * Runs the frames that arrive at the port, one after the other, and cancels tasks. Piscina calls this function once. Never resolves; rejects
 * if a frame cannot be run.
 */
export function serve(frames: MessagePort): Promise<never> {
  return new Promise((_, reject) => {
    frames.on('message', async (message: SharedArrayBuffer | CancelTask) => {
      if ('cancel' in message) {
        cancel(message);
        return;
      }
      try {
        await runFrame(message);
        frames.postMessage(null);
      } catch (error) {
        reject(error);
      }
    });
    frames.postMessage(threadId);
  });
}

/** Cancels a task. Has no effect unless the task is the latest one with an async handler. */
function cancel({ cancel: frameId, task, reason }: CancelTask): void {
  if (current?.frameId === frameId && current.task === task) current.kit.cancel(reason);
}

async function runFrame(shared: SharedArrayBuffer): Promise<void> {
  const slot = new SharedFrame(shared);
  slot.enter('loading', threadId);
  let task = slot.claim();
  if (task < 0) return;
  const frame = new FrameReader(slot.frame);
  const plugin = plugins[frame.head.plugin]!;
  const { handler, check, refused } = await prepare(plugin, frame.command);
  const mask = maskOf(plugin, frame.secrets);
  const state = new FrameState(frame.state);
  const { deadlineMs } = frame.head;
  followWallClock();
  slot.enter('running', threadId);
  /** Whether state updates of the frame were sent as a message. Later ones are then sent so too, because they must not overtake the message. */
  let isStateSent = false;

  for (let startedMs = performance.now(); task >= 0; task = slot.claim()) {
    let settled = refused;
    let request: AnyRequest | null = null;
    if (settled === null) {
      const payload = unpack<Json>(frame.payload(task));
      const mismatch = check === null ? null : check(payload);
      if (mismatch !== null) settled = resultOfFailure(mismatch, true);
      else request = makeRequest(frame, task, plugin, payload, state.fresh(), deadlineText(startedMs + deadlineMs));
    }
    // If the task was cancelled before it began, the main thread returns it.
    if (!slot.begin(task)) return;
    let endedMs = startedMs;
    if (settled === null) {
      const kit = new HandlerKit();
      try {
        let answer: unknown = handler!(request!, kit);
        if (isThenable(answer)) {
          current = { frameId: frame.head.frameId, task, kit };
          answer = await deadline.race(answer, startedMs + deadlineMs, kit);
        }
        const aside = kit.close();
        const isQuiet = aside === undefined && isNothing(answer);
        settled = isQuiet ? okResult : resultOfAnswer(answer, false, aside, mask);
      } catch (error) {
        settled = resultOfError(error, withStack(kit.close(), error, plugin.directory, mask), mask);
      }
      endedMs = performance.now();
      if (endedMs - startedMs > deadlineMs) {
        settled = resultOfFailure(timeOutReason(deadlineMs), false, kit.close(), 'timed_out', mask);
      } else if (settled.stateUpdates !== null) {
        settled = state.settle(settled);
      }
    }
    const outcome = outcomeOfRun(task, settled, startedMs, endedMs);
    const hasState = settled.stateUpdates !== null;
    if ((hasState && isStateSent) || !slot.publish(outcome)) {
      sendOutcome(frame.head.frameId, outcome);
      isStateSent ||= hasState;
    }
    slot.countAnswered();
    startedMs = endedMs;
  }
}

/** The mask of all recent secrets of a plugin, including the packed secrets of its current frame; null if there are none. */
function maskOf({ directory }: HostedPlugin, secrets: Uint8Array | null): Mask | null {
  let known = learned.get(directory);
  if (secrets !== null) {
    if (known === undefined) {
      known = new LearnedMask();
      learned.set(directory, known);
    }
    known.learn(secrets);
  }
  return known?.mask ?? null;
}

/** Sends an outcome as a message. Its memory is transferred to the main thread instead of copied, because it may be large. */
function sendOutcome(frameId: number, outcome: Outcome): void {
  const written = encodeOutcomes([outcome]);
  port.postMessage({ frameId, written } satisfies LateOutcome, [written.buffer as ArrayBuffer]);
}
