// Serves tasks of a frame with one process. A persistent process gets one request after another; if its plugin is pipelined, it gets
// further requests before it has answered the previous ones. A process for a single attempt gets only one request.

import { steadyUs, timerMsMax } from '../../clock.ts';
import type { AnyRequest } from '../wire/request.ts';
import { resultOfFailure, type TaskResult, timeOutReason } from '../wire/response.ts';
import type { FrameRun } from './frame-run.ts';
import type { PluginProcess, ProcessAnswer, ProcessEnd, Requester } from './plugin-process.ts';
import type { Programs } from './program.ts';

/**
 * The maximum number of unanswered requests of a pipelined process. When at most half as many remain, more are sent.
 */
const windowTasks = 32;

export class Conversation implements Requester<number> {
  readonly #run: FrameRun;
  readonly #programs: Programs;
  readonly #isPersistent: boolean;
  #process: PluginProcess<number> | null = null;
  /** How many further requests the process may get. */
  #room = 0;
  /** How many requests may be unanswered at the same time. */
  #window: number;
  /** The steady time, in µs, at which the task that is answered next counts as begun. */
  #sinceUs = steadyUs();
  /** The task whose time limit the timer `#deadline` measures. */
  #first: number | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #finish: () => void = () => {};
  /** The cancelled tasks, each with the reason. The process has received each of these cancels, or is being stopped. */
  readonly #cancelled = new Map<number, string>();

  constructor(run: FrameRun, programs: Programs) {
    this.#run = run;
    this.#programs = programs;
    this.#isPersistent = run.plugin.persistent !== undefined;
    // A task must see the plugin state that earlier tasks of the frame left. So if there is state, each request waits until the
    // previous one has been answered.
    this.#window = run.plugin.persistent?.pipelined && run.state.isEmpty ? windowTasks : 1;
  }

  /**
   * Sends the frame's tasks to the process, which may get at most `room` requests. Resolves when the process has ended. Also resolves when
   * all requests are answered, and the frame has no more tasks or `room` is used up.
   */
  async hold(process: PluginProcess<number>, room: number): Promise<void> {
    this.#process = process;
    this.#room = room;
    process.attach(this);
    process.learn(this.#run.frame.secrets);
    await new Promise<void>(finish => {
      this.#finish = finish;
      this.#ask();
    });
    process.attach(null);
  }

  /** Cancels the task's request (see `PluginProcess.cancel`), unless it has been answered or was already cancelled. */
  cancel(task: number, reason: string): void {
    const process = this.#process;
    if (process === null || this.#cancelled.has(task)) return;
    const id = process.idOf(task);
    if (id === undefined) return;
    this.#cancelled.set(task, reason);
    process.cancel(id, reason);
  }

  /** Fails the next task, because no process could be started for it. The following tasks may still get a process. */
  refuse(reason: string): void {
    this.#report([[this.#run.next().task, resultOfFailure(reason, false)]]);
  }

  onAnswers(answers: readonly ProcessAnswer<number>[]): void {
    this.#restartDeadline();
    const process = this.#process!;
    const ended = answers.map(answer => {
      const settled = this.#run.state.settle(process.settle(answer));
      if (settled.stateUpdates !== null) this.#window = 1;
      return [answer.key, settled] as const;
    });
    if (this.#isPersistent) this.#goOn(ended);
    else if (ended.length > 0) void this.#endAttempt(ended);
  }

  /**
   * Fails the cancelled tasks that are unanswered. Also fails the oldest unanswered task, on which the process was working, if it is past
   * its deadline or if no unanswered task was cancelled. Returns to the ledger all other unanswered tasks and, if the process is
   * persistent, the tasks that were not sent. A process works on one request after another, so only the oldest unanswered task may have
   * begun.
   */
  async onEnd(end: ProcessEnd): Promise<void> {
    clearTimeout(this.#deadline);
    const process = this.#process!;
    const unanswered = [...process.unanswered.values()];
    const [oldest] = unanswered;
    if (oldest === undefined) return;
    const oldestFails = end.verdict === 'timed_out' || !unanswered.some(task => this.#cancelled.has(task));
    const hasFailed = (task: number) => this.#cancelled.has(task) || (task === oldest && oldestFails);
    const failed = unanswered.filter(hasFailed).map(task => [task, process.settleEnd(this.#endOf(task, end))] as const);
    if (this.#isPersistent) {
      for (const task of unanswered) if (task !== oldest && !hasFailed(task)) this.#run.giveBack(task, 'interrupted');
      this.#run.takeBack('interrupted');
    }
    await this.#endAttempt(failed, hasFailed(oldest) ? undefined : oldest);
  }

  /** How the process ended, as the cause of this task's failure. A cancelled task fails with the reason of its own cancel. */
  #endOf(task: number, end: ProcessEnd): ProcessEnd {
    const reason = this.#cancelled.get(task);
    return reason === undefined ? end : { ...end, reason, verdict: 'cancelled', isUnexplained: false };
  }

  /**
   * If the attempt failed, first waits until the processes that it left behind are gone, because the next attempt may start at once. Then
   * gives the task `begun`, if present, back to the ledger as one that may have started, and reports the tasks in `ended`.
   */
  async #endAttempt(ended: readonly (readonly [task: number, settled: TaskResult])[], begun?: number): Promise<void> {
    if (ended[0]![1].verdict !== 'ok') await this.#programs.gone();
    if (begun !== undefined) this.#run.giveBack(begun, 'begun');
    this.#report(ended);
    this.#finish();
  }

  #goOn(ended: readonly (readonly [task: number, settled: TaskResult])[]): void {
    this.#report(ended);
    this.#run.moved();
    if (this.#process!.unanswered.size <= this.#window >> 1) this.#ask();
  }

  #ask(): void {
    const requests: [task: number, request: AnyRequest][] = [];
    const process = this.#process!;
    const sent = process.unanswered.size;
    while (this.#room > 0 && !process.isOver && sent + requests.length < this.#window && this.#run.hasNext()) {
      if (this.#isPersistent && sent + requests.length === 0) this.#sinceUs = steadyUs();
      const { task, request } = this.#run.next();
      this.#room--;
      requests.push([task, request]);
    }
    process.ask(requests);
    if (process.unanswered.size === 0) this.#finish();
    else this.#restartDeadline();
  }

  /** Starts the time limit of a task when its request becomes the oldest unanswered one. */
  #restartDeadline(): void {
    const [first] = this.#process!.unanswered.values();
    if (first === this.#first) return;
    this.#first = first;
    clearTimeout(this.#deadline);
    if (first === undefined) return;
    const { deadlineMs } = this.#run.frame.head;
    const expire = () => this.#process!.terminate(timeOutReason(deadlineMs));
    this.#deadline = setTimeout(expire, Math.min(deadlineMs, timerMsMax));
  }

  /** Reports ended tasks. Tasks that were answered together get equal shares of the time since the previous answer. */
  #report(ended: readonly (readonly [task: number, settled: TaskResult])[]): void {
    const shareUs = (steadyUs() - this.#sinceUs) / ended.length;
    for (const [task, settled] of ended) {
      this.#run.ended(task, settled, this.#sinceUs, Math.round(shareUs));
      this.#sinceUs += shareUs;
    }
    if (this.#isPersistent) this.#run.send();
  }
}
