// A persistent process that has many requests at the same time. Answers may arrive in any order; each has the id of its request.

import { timerMsMax } from '../../clock.ts';
import { type Json, unpack } from '../../packing.ts';
import type { FrameReader } from '../wire/frame.ts';
import { outcomeOfRun } from '../wire/outcome-message.ts';
import type { HostedPlugin, Outcome } from '../wire/plugin-host.ts';
import { type AnyRequest, makeRequest, unpackObject } from '../wire/request.ts';
import { resultOfFailure, type TaskResult, timeOutReason } from '../wire/response.ts';
import type { PayloadCheck } from '../wire/schema.ts';
import type { HostSender } from './host-sender.ts';
import { PluginProcess, type ProcessAnswer, type ProcessEnd, type Requester } from './plugin-process.ts';
import type { Program } from './program.ts';
import type { RunnerFrame } from './runner-frame.ts';

/** A process that has not answered a request this long after the request's deadline gets no new requests. */
const graceMs = 100;

type Open = { readonly run: RunnerFrame; readonly frame: FrameReader; readonly check: PayloadCheck | null };
type Waiting = { readonly open: Open; readonly task: number };
type RunningRequest = Waiting & { readonly startedMs: number; timer: NodeJS.Timeout | null; isLate: boolean };

export class RunnerProcess implements Requester<RunningRequest> {
  readonly #plugin: HostedPlugin;
  readonly #process: PluginProcess<RunningRequest>;
  readonly #sender: HostSender;
  /** Resolves when every process that an ended program has started is gone (Programs.gone). */
  readonly #leftovers: () => Promise<void>;
  /** Called when the process takes no more frames. */
  readonly #onSpent: () => void;
  /** Called when the process has ended and all its tasks are reported. */
  readonly #onReported: () => void;
  readonly #runs = new Set<RunnerFrame>();
  #waiting: Waiting[] = [];
  /** The number of requests that are unanswered `graceMs` after their deadlines. */
  #stale = 0;
  #isSpent = false;
  /** The latest cancelled request. If the process ends without answering it, its task fails, and all other tasks are returned. */
  #cancelled: RunningRequest | null = null;

  constructor(
    plugin: HostedPlugin,
    program: Program,
    sender: HostSender,
    leftovers: () => Promise<void>,
    onSpent: () => void,
    onReported: () => void,
  ) {
    this.#plugin = plugin;
    this.#process = new PluginProcess(plugin, program);
    this.#process.attach(this);
    this.#sender = sender;
    this.#leftovers = leftovers;
    this.#onSpent = onSpent;
    this.#onReported = onReported;
  }

  get ended(): Promise<ProcessEnd> {
    return this.#process.ended;
  }

  /** Takes the frame's tasks that have not ended. */
  ask(run: RunnerFrame, frame: FrameReader, check: PayloadCheck | null): void {
    if (run.isOver) return;
    this.#runs.add(run);
    this.#process.learn(frame.secrets);
    for (let task = 0; task < frame.head.count; task++)
      if (run.isOpen(task)) this.#waiting.push({ open: { run, frame, check }, task });
    // A process that is being stopped because of a cancel gets no new requests.
    if (this.#process.isOver) this.#close();
    if (this.#isSpent) this.#giveBack();
    else this.#askWaiting();
  }

  /**
   * Cancels a task. If its request has not been sent, the task is returned. Otherwise a process with `hearsCancel` receives the
   * cancel, and any other process is stopped. The other unanswered tasks of a stopped process are returned, each to run alone.
   */
  cancel(frameId: number, task: number, reason: string): void {
    const isWanted = (other: Waiting) => other.open.frame.head.frameId === frameId && other.task === task;
    const waiting = this.#waiting.find(isWanted);
    if (waiting !== undefined) {
      this.#waiting = this.#waiting.filter(other => other !== waiting);
      this.#return(waiting);
      return;
    }
    const request = [...this.#process.unanswered.values()].find(isWanted);
    if (request === undefined || request.isLate) return;
    this.#cancelled = request;
    if (!this.#plugin.persistent!.hearsCancel) this.#close();
    this.#process.cancel(this.#process.idOf(request)!, reason);
  }

  /** From now on the process gets no new requests. It ends when each of its requests has been answered or is overdue by `graceMs`. */
  retire(): void {
    if (this.#isSpent) return;
    this.#close();
    this.#endWhenAlone();
  }

  onAnswers(answers: readonly ProcessAnswer<RunningRequest>[]): void {
    const ended: [RunningRequest, TaskResult][] = [];
    for (const answer of answers) {
      const { key: request } = answer;
      if (request.timer !== null) clearTimeout(request.timer);
      else this.#stale--;
      // An answer that comes after the deadline of its request is dropped, but it frees the place of the request.
      if (!request.isLate) ended.push([request, this.#process.settle(answer)]);
    }
    this.#report(ended);
    if (this.#process.isOver) {
      this.#close();
      return;
    }
    this.#askWaiting();
    if (this.#isSpent) this.#endWhenAlone();
  }

  async onEnd(end: ProcessEnd): Promise<void> {
    this.#close();
    const unanswered = [...this.#process.unanswered.values()];
    for (const { timer } of unanswered) if (timer !== null) clearTimeout(timer);
    const running = unanswered.filter(({ isLate }) => !isLate);
    const cancelled = running.find(request => request === this.#cancelled);
    const [only, ...others] = cancelled ? [cancelled] : running;
    // A task may run again as soon as it is reported, so all processes that the task started must be gone first.
    if (only !== undefined) await this.#leftovers();
    if (only !== undefined && others.length === 0) this.#report([[only, this.#process.settleEnd(end)]]);
    // Any of the unreported tasks may have ended the process, so each must run alone.
    for (const run of this.#runs) run.giveBack(this.#sender, 'begun');
    this.#runs.clear();
    this.#onReported();
  }

  /** From now on the process takes no more frames. The tasks whose requests have not been sent are returned. */
  #close(): void {
    this.#isSpent = true;
    this.#onSpent();
    this.#giveBack();
  }

  #askWaiting(): void {
    const requests: [RunningRequest, AnyRequest][] = [];
    const { unanswered, requests: sent } = this.#process;
    const { jobsMax } = this.#plugin.persistent!;
    let isFull = false;
    while (!isFull && !this.#isSpent && this.#waiting.length > 0) {
      if (unanswered.size + requests.length >= this.#waiting[0]!.open.frame.head.concurrency) break;
      const request = this.#requestOf(this.#waiting.shift()!);
      if (request !== null) requests.push(request);
      isFull = jobsMax !== null && sent + requests.length >= jobsMax;
    }
    this.#process.ask(requests);
    if (isFull) this.retire();
  }

  /** Makes the request of a task. If the payload does not fit the schema, sends the task's outcome and returns null. */
  #requestOf({ open, task }: Waiting): [RunningRequest, AnyRequest] | null {
    const { frame, check } = open;
    const { deadlineMs } = frame.head;
    const request: RunningRequest = { open, task, startedMs: performance.now(), timer: null, isLate: false };
    const payload = unpack<Json>(frame.payload(task));
    const mismatch = check === null ? null : check(payload);
    if (mismatch !== null) {
      this.#report([[request, resultOfFailure(mismatch, true)]]);
      return null;
    }
    request.timer = setTimeout(() => this.#expire(request), Math.min(deadlineMs, timerMsMax));
    const deadlineAt = new Date(Date.now() + deadlineMs).toISOString();
    return [request, makeRequest(frame, task, this.#plugin, payload, unpackObject(frame.state), deadlineAt)];
  }

  #expire(request: RunningRequest): void {
    const { deadlineMs } = request.open.frame.head;
    request.isLate = true;
    this.#report([[request, resultOfFailure(timeOutReason(deadlineMs), false, {}, 'timed_out')]]);
    request.timer = setTimeout(() => {
      request.timer = null;
      this.#stale++;
      if (this.#isSpent) this.#endWhenAlone();
      else this.retire();
    }, graceMs);
  }

  #endWhenAlone(): void {
    if (this.#process.unanswered.size > this.#stale || this.#process.isOver) return;
    if (this.#stale > 0) this.#process.terminate();
    else this.#process.release();
  }

  #giveBack(): void {
    for (const waiting of this.#waiting.splice(0)) this.#return(waiting);
  }

  #return({ open, task }: Waiting): void {
    this.#sender.returned(open.frame.head.frameId, task, task + 1, 'interrupted');
    this.#end(open.run, task);
  }

  #report(ended: readonly (readonly [RunningRequest, TaskResult])[]): void {
    let outcomes: Outcome[] = [];
    for (const [i, [{ open, task, startedMs }, settled]] of ended.entries()) {
      outcomes.push(outcomeOfRun(task, settled, startedMs));
      this.#end(open.run, task);
      if (ended[i + 1]?.[0].open.frame === open.frame) continue;
      this.#sender.outcomes(open.frame.head.frameId, outcomes);
      outcomes = [];
    }
  }

  #end(run: RunnerFrame, task: number): void {
    run.end(task);
    if (run.isOver) this.#runs.delete(run);
  }
}
