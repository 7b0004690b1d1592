// A frame of a process plugin while it runs: which tasks have begun, the request of each, and the outcomes that are not sent yet.

import { steadyUs } from '../../clock.ts';
import { type Json, unpack } from '../../packing.ts';
import { FrameReader } from '../wire/frame.ts';
import { outcomeOf } from '../wire/outcome-message.ts';
import type { HostedPlugin, Outcome } from '../wire/plugin-host.ts';
import { type AnyRequest, makeRequest } from '../wire/request.ts';
import { resultOfFailure, type TaskResult } from '../wire/response.ts';
import type { PayloadCheck, PayloadChecks } from '../wire/schema.ts';
import { FrameState } from '../wire/state.ts';
import type { HostSender } from './host-sender.ts';

/** When no task has ended for this long, those that have not begun go back. */
const slowMs = 5;
/** The same where each attempt has a process; outcomes are sent at least this often. A frame of such tasks is to take less. */
const slowAttemptMs = 30;
/** A frame that gets no place goes back after this time. */
const patienceMs = 50;

export class FrameRun {
  readonly frame: FrameReader;
  readonly plugin: HostedPlugin;
  readonly state: FrameState;
  /** Whether it has one of the places. */
  hasBegun = false;
  /** The process that serves it now. */
  conversation: { cancel(task: number, reason: string): void } | null = null;
  readonly #sender: HostSender;
  #next = 0;
  #end: number;
  #check: PayloadCheck | null = null;
  #slow: NodeJS.Timeout | null = null;
  #ended: Outcome[] = [];
  /** The payload of this task fits the schema. */
  #fitting = -1;
  #payload: Json = null;

  /** The frame's bytes are a view of what came over the pipe: they are copied. */
  constructor(bytes: Buffer, plugin: HostedPlugin, sender: HostSender) {
    this.frame = new FrameReader(Buffer.from(bytes));
    this.plugin = plugin;
    this.state = new FrameState(this.frame.state, plugin.commands[this.frame.command]?.replacesState);
    this.#sender = sender;
    this.#end = this.frame.head.count;
  }

  /** All places are taken. */
  wait(): void {
    this.#slow = setTimeout(() => this.takeBack(), patienceMs);
  }

  async begin(checks: PayloadChecks): Promise<void> {
    this.close();
    this.hasBegun = true;
    const schema = this.plugin.commands[this.frame.command]?.inputSchema;
    if (schema) this.#check = await checks.of(schema);
  }

  /** A task has ended: those behind it need not go back yet. */
  moved(): void {
    this.#slow?.refresh();
  }

  /** Whether a task is left that has not begun. Tasks at the front whose payload does not fit the schema end here. */
  hasNext(): boolean {
    for (; this.#next < this.#end; this.#next++) {
      if (this.#fitting === this.#next) return true;
      this.#payload = unpack<Json>(this.frame.payload(this.#next));
      const mismatch = this.#check === null ? null : this.#check(this.#payload);
      if (mismatch === null) {
        this.#fitting = this.#next;
        return true;
      }
      this.ended(this.#next, resultOfFailure(mismatch, true), steadyUs(), 0);
    }
    return false;
  }

  /** Begins the task that `hasNext` has found. */
  next(): { readonly task: number; readonly request: AnyRequest } {
    // Started with the first task: a frame of which nothing runs would go back and come again without end.
    this.#slow ??= setTimeout(() => this.#ring(), this.plugin.persistent === undefined ? slowAttemptMs : slowMs);
    const task = this.#next++;
    const deadlineAt = new Date(Date.now() + this.frame.head.deadlineMs).toISOString();
    return { task, request: makeRequest(this.frame, task, this.plugin, this.#payload, this.state.fresh(), deadlineAt) };
  }

  /** The outcome is sent with others: by `send`, or soon. */
  ended(task: number, settled: TaskResult, startedUs: number, runUs: number): void {
    this.#ended.push(outcomeOf(task, settled, startedUs, runUs));
  }

  /** Gives back what has not begun, and these tasks, whose requests the process has not read. */
  takeBack(unread: readonly number[] = []): void {
    this.send();
    const { frameId } = this.frame.head;
    for (const task of unread) this.#sender.returned(frameId, task, task + 1);
    this.#sender.returned(frameId, this.#next, this.#end);
    this.#end = this.#next;
  }

  close(): void {
    if (this.#slow !== null) clearTimeout(this.#slow);
    this.#slow = null;
    this.send();
  }

  send(): void {
    if (this.#ended.length > 0) this.#sender.outcomes(this.frame.head.frameId, this.#ended);
    this.#ended = [];
  }

  #ring(): void {
    if (this.#ended.length === 0) {
      this.takeBack();
      return;
    }
    this.send();
    this.#slow?.refresh();
  }
}
