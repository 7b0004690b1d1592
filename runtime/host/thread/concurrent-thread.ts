// A thread that runs many tasks of one command concurrently. If the promise of a handler misses the deadline, the task gets its outcome
// without waiting for the handler, but keeps its place until the handler settles. If the handler takes too long to settle, the thread takes
// no new tasks.

import { AsyncLocalStorage } from 'node:async_hooks';
import { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from 'node:timers';
import threads, { threadId, workerData } from 'node:worker_threads';
import { timerMsMax } from '../../clock.ts';
import { type Json, unpack } from '../../packing.ts';
import { FrameReader } from '../wire/frame.ts';
import type { Configure } from '../wire/host-setup.ts';
import { LearnedMask } from '../wire/mask.ts';
import { encodeOutcomes, outcomeOfRun } from '../wire/outcome-message.ts';
import type { Outcome } from '../wire/plugin-host.ts';
import { makeRequest, unpackObject } from '../wire/request.ts';
import {
  okResult,
  resultOfAnswer,
  resultOfError,
  resultOfFailure,
  type TaskResult,
  timeOutReason,
} from '../wire/response.ts';
import { TaskClaims } from '../wire/task-claims.ts';
import { type TaskPosition, ThreadStatus } from '../wire/thread-status.ts';
import { HandlerKit } from './handler-kit.ts';
import { withStack } from './stack.ts';
import type { CancelTask, Loaded } from './thread.ts';
import {
  deadlineText,
  followWallClock,
  isNothing,
  isThenable,
  type PreparedCommand,
  plugins,
  prepare,
} from './thread-setup.ts';

/** If a handler has not settled this long after the deadline of its task, the thread takes no new tasks. */
export const graceMs = 100;
/** If a handler has not settled this long after its task was cancelled, the thread takes no new tasks. */
const cancelMsMax = 1_000;
/** The interval at which the thread reports that its event loop runs (ThreadStatus.beat), while handlers have not settled. */
export const beatMs = 50;

export type ConcurrentData = Configure & { readonly status: SharedArrayBuffer };
/** Gives the thread a frame. `ticket`: the frame's number in this thread. `claims`: the memory of the frame's `TaskClaims`. */
export type GiveFrame = { readonly ticket: number; readonly bytes: Uint8Array; readonly claims: SharedArrayBuffer };
/** Reports encoded outcomes, by frame. */
export type TasksEnded = { readonly ended: readonly (readonly [frameId: number, written: Uint8Array])[] };
/** Gives back tasks that have not begun. `isSpent`: the thread takes no more tasks. */
export type TasksReturned = {
  readonly returned: readonly (readonly [frameId: number, task: number])[];
  readonly isSpent: boolean;
};
/** Reports that no task is running, except those whose handlers ignore their signals. The thread can be stopped. */
export type ThreadIdle = { readonly over: true };

type Open = {
  readonly ticket: number;
  readonly frame: FrameReader;
  readonly claims: TaskClaims;
  readonly prepared: PreparedCommand;
};
type Waiting = { readonly open: Open; readonly task: number };
type Job = Waiting & {
  readonly kit: HandlerKit;
  readonly startedMs: number;
  timer: NodeJS.Timeout | null;
  isLate: boolean;
};

const port = threads.parentPort!;
const status = new ThreadStatus((workerData as ConcurrentData).status);
/** The task whose code is running. The value is small, because resources that the code leaves open, such as sockets, keep it alive. */
const current = new AsyncLocalStorage<TaskPosition>();
/** Masks the secrets of all recent tasks in every output, because the tasks share the variables of the plugin's module. */
const secrets = new LearnedMask();
let preparing: Promise<PreparedCommand> | null = null;
const waiting: Waiting[] = [];
/** The tasks whose handlers have returned a promise that has not settled. */
const running = new Set<Job>();
/** The number of tasks whose handlers were called and have not settled. */
let underWay = 0;
/** The number of tasks whose handlers have ignored the signal, and still have not settled. */
let stale = 0;
let isSpent = false;
/** The outcomes that have not been sent, by frame, in the order in which the tasks ended. */
let ended = new Map<number, Outcome[]>();
let beating: NodeJS.Timeout | null = null;

process.on('uncaughtExceptionMonitor', reportCulprit);
process.on('exit', reportCulprit);
port.on('message', (given: GiveFrame | CancelTask) => ('cancel' in given ? cancel(given) : void take(given)));
port.postMessage({ loaded: threadId } satisfies Loaded);

/** Called on an uncaught error and on the thread's exit: notes the task whose code ends the thread, and sends the outcomes so far. */
function reportCulprit(): void {
  const place = current.getStore();
  if (place !== undefined) status.blame(place.ticket, place.task);
  sendOutcomes();
}

async function take({ ticket, bytes, claims: memory }: GiveFrame): Promise<void> {
  const frame = new FrameReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  status.take(ticket);
  status.beat();
  const claims = new TaskClaims(memory);
  // If all tasks of the frame were cancelled, nothing of the plugin may begin for them, not even the loading of its code.
  if (claims.areAll) return;
  if (frame.secrets !== null) secrets.learn(frame.secrets);
  const prepared = await prepareOnce(frame);
  followWallClock();
  const open: Open = { ticket, frame, claims, prepared };
  for (let task = 0; task < frame.head.count; task++) waiting.push({ open, task });
  // Sends earlier outcomes first, because they could not be sent any more if a new task blocked the thread.
  sendOutcomes();
  enterWaiting();
}

/** Loads the handler once, because the thread runs only one command. If loading fails, the next frame tries again. */
function prepareOnce(frame: FrameReader): Promise<PreparedCommand> {
  if (preparing === null) {
    status.isLoading = true;
    preparing = prepare(plugins[frame.head.plugin]!, frame.command).then(prepared => {
      status.isLoading = false;
      if (prepared.refused !== null) preparing = null;
      return prepared;
    });
  }
  return preparing;
}

function enterWaiting(): void {
  while (!isSpent && waiting.length > 0 && underWay < waiting[0]!.open.frame.head.concurrency) enter(waiting.shift()!);
  if (isSpent && waiting.length > 0) giveBack(waiting.splice(0));
  if (underWay > 0) beating ??= setInterval(() => status.beat(), beatMs);
  else if (beating !== null) {
    clearInterval(beating);
    beating = null;
  }
}

/** Begins a task, unless it was cancelled. */
function enter({ open, task }: Waiting): void {
  const { frame, ticket, prepared } = open;
  const { deadlineMs } = frame.head;
  const job: Job = { open, task, kit: new HandlerKit(), startedMs: performance.now(), timer: null, isLate: false };
  const payload = unpack<Json>(frame.payload(task));
  const mismatch = prepared.check === null ? null : prepared.check(payload);
  const refused = prepared.refused ?? (mismatch === null ? null : resultOfFailure(mismatch, true));
  if (refused !== null) {
    if (open.claims.claim(task)) note(job, refused);
    return;
  }
  const plugin = plugins[frame.head.plugin]!;
  const deadlineAt = deadlineText(job.startedMs + deadlineMs);
  const request = makeRequest(frame, task, plugin, payload, unpackObject(frame.state), deadlineAt);
  if (!open.claims.claim(task)) return;
  underWay++;
  status.enter(ticket, task);
  let answer: unknown;
  let isPromise: boolean;
  try {
    answer = current.run({ ticket, task }, prepared.handler!, request, job.kit);
    isPromise = isThenable(answer);
  } catch (error) {
    finish(job, thrower(error));
    return;
  } finally {
    status.leave();
  }
  if (!isPromise) {
    finish(job, () => answer);
    return;
  }
  running.add(job);
  job.timer = setTimeout(expire, Math.min(deadlineMs, timerMsMax), job);
  Promise.resolve(answer).then(
    value => finishLate(job, () => value),
    error => finishLate(job, thrower(error)),
  );
}

function thrower(error: unknown): () => never {
  return () => {
    throw error;
  };
}

/** The result of a task. `answered` returns the handler's answer or throws its error. Reading an answer may run plugin code, such as a getter. */
function settle({ open, task, kit }: Job, answered: () => unknown): TaskResult {
  const aside = kit.close();
  status.enter(open.ticket, task);
  try {
    const answer = answered();
    const isQuiet = aside === undefined && isNothing(answer);
    return isQuiet ? okResult : resultOfAnswer(answer, false, aside, secrets.mask);
  } catch (error) {
    const { directory } = plugins[open.frame.head.plugin]!;
    return resultOfError(error, withStack(aside, error, directory, secrets.mask), secrets.mask);
  } finally {
    status.leave();
  }
}

/** Called when the promise of a handler has settled. This frees the task's place. */
function finishLate(job: Job, answered: () => unknown): void {
  running.delete(job);
  finish(job, answered);
  enterWaiting();
}

/** Called when a handler has settled. Its answer is dropped if the deadline has passed or the task was cancelled. */
function finish(job: Job, answered: () => unknown): void {
  underWay--;
  if (job.timer !== null) clearTimeout(job.timer);
  if (job.isLate) {
    if (job.timer === null) stale--;
  } else {
    const { deadlineMs } = job.open.frame.head;
    const isLate = performance.now() - job.startedMs > deadlineMs;
    note(job, isLate ? timedOut(job) : settle(job, answered));
  }
  if (isSpent) endWhenAlone();
}

function timedOut({ open, kit }: Job): TaskResult {
  const { deadlineMs } = open.frame.head;
  return resultOfFailure(timeOutReason(deadlineMs), false, kit.close(), 'timed_out', secrets.mask);
}

function expire(job: Job): void {
  endEarly(
    job,
    () => job.kit.expire(),
    graceMs,
    () => timedOut(job),
  );
}

/**
 * Ends a task before its handler has settled: fires the handler's signal by `tellHandler`, and sends the task's outcome. If the handler has
 * not settled after `patienceMs`, the thread takes no new tasks.
 */
function endEarly(job: Job, tellHandler: () => void, patienceMs: number, settled: () => TaskResult): void {
  if (job.timer !== null) clearTimeout(job.timer);
  job.isLate = true;
  current.run({ ticket: job.open.ticket, task: job.task }, tellHandler);
  note(job, settled());
  job.timer = setTimeout(becomeStale, patienceMs, job);
}

/** Called if a handler has ignored its signal. From now on the thread takes no new tasks. */
function becomeStale(job: Job): void {
  job.timer = null;
  stale++;
  isSpent = true;
  giveBack(waiting.splice(0));
  endWhenAlone();
}

/** Gives back tasks that have not begun, except the cancelled ones, which the main thread gives back. */
function giveBack(unbegun: readonly Waiting[]): void {
  const returned = unbegun
    .filter(({ open, task }) => open.claims.claim(task))
    .map(({ open, task }) => [open.frame.head.frameId, task] as const);
  port.postMessage({ returned, isSpent } satisfies TasksReturned);
}

/** Cancels a running task: it gets its outcome at once, and its signal fires. Its place stays taken until the handler settles. */
function cancel({ cancel: ticket, task, reason }: CancelTask): void {
  const job = [...running].find(({ open, task: other }) => open.ticket === ticket && other === task);
  if (job === undefined || job.isLate) return;
  const settled = () => resultOfFailure(reason, false, job.kit.close(), 'error', secrets.mask);
  endEarly(job, () => job.kit.cancel(reason), cancelMsMax, settled);
}

function endWhenAlone(): void {
  if (underWay > stale) return;
  sendOutcomes();
  port.postMessage({ over: true } satisfies ThreadIdle);
}

function note({ open, task, startedMs }: Job, settled: TaskResult): void {
  const { frameId } = open.frame.head;
  const outcome = outcomeOfRun(task, settled, startedMs);
  const others = ended.get(frameId);
  if (ended.size === 0) setImmediate(sendOutcomes);
  if (others) others.push(outcome);
  else ended.set(frameId, [outcome]);
}

function sendOutcomes(): void {
  if (ended.size === 0) return;
  const encoded = Array.from(ended, ([frameId, outcomes]) => [frameId, encodeOutcomes(outcomes)] as const);
  ended = new Map();
  port.postMessage(
    { ended: encoded } satisfies TasksEnded,
    encoded.map(([, written]) => written.buffer) as ArrayBuffer[],
  );
}
