// Outcomes on the wire: the frame's id (8), then for each task a head and the encoded body. Also the messages about returned and cancelled tasks.

import { copyBytes } from '../../bytes.ts';
import { steadyUs } from '../../clock.ts';
import { checkBody } from './body-check.ts';
import { allocateMessage } from './message.ts';
import { emptyBody } from './outcome.ts';
import { type Outcome, type ReturnReason, returnReasons, type Verdict, verdicts } from './plugin-host.ts';
import type { TaskResult } from './response.ts';

/** The length of the head of an outcome: task (4) | verdict (1) | permanent (1) | body length (4) | run µs (4) | started µs (8). */
export const outcomeHeadBytes = 22;
const runUsMax = 0xffff_ffff;

/** The outcome of a task. `startedUs` is a steady time; the ledger thread converts it to wall time when it reads the outcome. */
export function outcomeOf(
  task: number,
  { verdict, permanent, body }: TaskResult,
  startedUs: number,
  runUs: number,
): Outcome {
  return { task, verdict, permanent, startedUs, runUs, body };
}

/** The outcome of a task that ran between two times of `performance.now`. */
export function outcomeOfRun(
  task: number,
  result: TaskResult,
  startedMs: number,
  endedMs = performance.now(),
): Outcome {
  return outcomeOf(task, result, steadyUs(startedMs), Math.round((endedMs - startedMs) * 1000));
}

/** Writes an outcome at `at`, and returns the offset at which it ends. An empty body takes no bytes. */
export function writeOutcome(into: Buffer, at: number, outcome: Outcome): number {
  const { task, verdict, permanent, startedUs, runUs, body } = outcome;
  const bodyBytes = body === emptyBody ? 0 : body.length;
  into.writeUInt32LE(task, at);
  into[at + 4] = verdicts.indexOf(verdict);
  into[at + 5] = permanent ? 1 : 0;
  into.writeUInt32LE(bodyBytes, at + 6);
  into.writeUInt32LE(Math.min(runUs, runUsMax), at + 10);
  into.writeDoubleLE(startedUs, at + 14);
  return bodyBytes === 0 ? at + outcomeHeadBytes : copyBytes(into, at + outcomeHeadBytes, body);
}

/** The two pieces of a message `outcomes`: the head, and the encoded outcomes. The outcomes may be large, so they are not copied. */
export function outcomesMessage(frameId: number, written: Uint8Array): readonly [head: Buffer, written: Uint8Array] {
  const { message, bodyAt } = allocateMessage('outcomes', 8 + written.length, written.length);
  message.writeDoubleLE(frameId, bodyAt);
  return [message, written];
}

/** Encodes outcomes one after the other. The result has a buffer of its own, which can be transferred to another thread. */
export function encodeOutcomes(outcomes: readonly Outcome[]): Buffer {
  const length = outcomes.reduce((sum, { body }) => sum + outcomeHeadBytes + body.length, 0);
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const outcome of outcomes) at = writeOutcome(bytes, at, outcome);
  return bytes.subarray(0, at);
}

/** The positions of the tasks to which encoded outcomes belong. */
export function* tasksOf(written: Uint8Array): Iterable<number> {
  const view = new DataView(written.buffer, written.byteOffset, written.byteLength);
  for (let at = 0; at < written.length; at += outcomeHeadBytes + view.getUint32(at + 6, true))
    yield view.getUint32(at, true);
}

/** Decodes a message with outcomes. `wallUs` converts steady time to wall time. Throws if the bytes are not valid outcomes. */
export function readOutcomes(
  body: Buffer,
  wallUs: (steadyUs: number) => number,
): { frameId: number; outcomes: Outcome[] } {
  const outcomes: Outcome[] = [];
  for (let at = 8; at < body.length; ) {
    const bodyBytes = body.readUInt32LE(at + 6);
    const bodyAt = at + outcomeHeadBytes;
    const verdict: Verdict | undefined = verdicts[body[at + 4]!];
    if (verdict === undefined || bodyAt + bodyBytes > body.length)
      throw new RangeError('an outcome has an unknown verdict, or is truncated');
    const outcomeBody = bodyBytes === 0 ? emptyBody : body.subarray(bodyAt, bodyAt + bodyBytes);
    const startedUs = body.readDoubleLE(at + 14);
    if (bodyBytes > 0) checkBody(outcomeBody);
    if (!Number.isFinite(startedUs)) throw new RangeError('an outcome has no valid start time');
    outcomes.push({
      task: body.readUInt32LE(at),
      verdict,
      permanent: body[at + 5] === 1,
      startedUs: wallUs(startedUs),
      runUs: body.readUInt32LE(at + 10),
      body: outcomeBody,
    });
    at = bodyAt + bodyBytes;
  }
  return { frameId: body.readDoubleLE(0), outcomes };
}

export function returnedMessage(frameId: number, first: number, end: number, reason: ReturnReason): Buffer {
  const { message, bodyAt } = allocateMessage('returned', returnedBytes);
  message.writeDoubleLE(frameId, bodyAt);
  message.writeUInt32LE(first, bodyAt + 8);
  message.writeUInt32LE(end, bodyAt + 12);
  message[bodyAt + 16] = returnReasons.indexOf(reason);
  return message;
}

/** Encodes a message about a cancel: `cancel` asks the host to cancel the task, and `cancelling` is the host's confirmation. */
export function taskMessage(kind: 'cancel' | 'cancelling', frameId: number, task: number, reason = ''): Buffer {
  const text = Buffer.from(reason);
  const { message, bodyAt } = allocateMessage(kind, 12 + text.length);
  message.writeDoubleLE(frameId, bodyAt);
  message.writeUInt32LE(task, bodyAt + 8);
  message.set(text, bodyAt + 12);
  return message;
}

/** Decodes the body of a message `cancel` or `cancelling`. Throws if the bytes do not identify a task. */
export function readTask(body: Buffer): { frameId: number; task: number; reason: string } {
  return { frameId: body.readDoubleLE(0), task: body.readUInt32LE(8), reason: body.subarray(12).toString() };
}

/** The length of the body of a message `returned`: frame id (8) | first task (4) | end of the tasks (4) | reason (1). */
const returnedBytes = 17;
/** The maximum number of tasks in a message `returned`. Every frame has fewer tasks. */
const tasksMax = 0xffff;

/** Decodes the body of a message `returned`. Throws if the range of tasks or the reason is invalid. */
export function readReturned(body: Buffer): { frameId: number; tasks: number[]; reason: ReturnReason } {
  const first = body.readUInt32LE(8);
  const end = body.readUInt32LE(12);
  if (end < first || end - first > tasksMax) throw new RangeError('the returned tasks are not a valid range');
  const tasks = Array.from({ length: end - first }, (_, i) => first + i);
  const reason = returnReasons[body.readUInt8(16)];
  if (reason === undefined) throw new RangeError('tasks are returned without a valid reason');
  return { frameId: body.readDoubleLE(0), tasks, reason };
}
