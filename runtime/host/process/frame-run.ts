// The state of a frame of a process plugin: which of its tasks have begun, and the outcomes that have not been sent yet.

import { steadyUs } from '../../clock.ts';
import { type Json, unpack } from '../../packing.ts';
import { FrameReader } from '../wire/frame.ts';
import { outcomeOf } from '../wire/outcome-message.ts';
import type { HostedPlugin, Outcome, ReturnReason } from '../wire/plugin-host.ts';
import { type AnyRequest, makeRequest } from '../wire/request.ts';
import { resultOfFailure, type TaskResult } from '../wire/response.ts';
import type { PayloadCheck, PayloadChecks } from '../wire/schema.ts';
import { FrameState } from '../wire/state.ts';
import type { HostSender } from './host-sender.ts';

/** If no task ends for this long, the tasks that have not begun are returned. */
const slowMs = 5;
/** The limit that replaces `slowMs` if each attempt has a process of its own, because processes start slowly. */
const slowAttemptMs = 30;
/** A frame that has waited this long for one of the host's places for running frames is returned. */
const patienceMs = 50;

export class FrameRun {
  readonly frame: FrameReader;
  readonly plugin: HostedPlugin;
  readonly state: FrameState;
  /** Whether the frame has got one of the host's places for running frames. */
  hasBegun = false;
  /** The conversation with the process that serves the frame at the moment. */
  conversation: { cancel(task: number, reason: string): void } | null = null;
  readonly #sender: HostSender;
  #next = 0;
  #end: number;
  #check: PayloadCheck | null = null;
  #slow: NodeJS.Timeout | null = null;
  #ended: Outcome[] = [];
  /** The latest task whose payload was found to fit the schema. */
  #fitting = -1;
  /** The payload of the task that was checked last. */
  #payload: Json = null;

  /** Copies the frame, whose bytes may be a view of a larger chunk that arrived over the pipe. */
  constructor(bytes: Buffer, plugin: HostedPlugin, sender: HostSender) {
    this.frame = new FrameReader(Buffer.from(bytes));
    this.plugin = plugin;
    this.state = new FrameState(this.frame.state, plugin.commands[this.frame.command]?.replacesState);
    this.#sender = sender;
    this.#end = this.frame.head.count;
  }

  /** Called if the host has no place for the frame now. After `patienceMs`, gives back the frame's tasks unless the frame has begun. */
  wait(): void {
    this.#slow = setTimeout(() => this.takeBack('crowded'), patienceMs);
  }

  async begin(checks: PayloadChecks): Promise<void> {
    this.close();
    this.hasBegun = true;
    const schema = this.plugin.commands[this.frame.command]?.inputSchema;
    if (schema) this.#check = await checks.of(schema);
  }

  /** Restarts the timer that returns the tasks that have not begun. */
  moved(): void {
    this.#slow?.refresh();
  }

  /** Finds the next task whose payload fits the schema, and fails the tasks before it. Returns whether there is such a task. */
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

  /** Begins the task that `hasNext` found. */
  next(): { readonly task: number; readonly request: AnyRequest } {
    // The timer starts with the first task. Otherwise a frame whose process starts slowly would be returned again and again.
    this.#slow ??= setTimeout(() => this.#ring(), this.plugin.persistent === undefined ? slowAttemptMs : slowMs);
    const task = this.#next++;
    const deadlineAt = new Date(Date.now() + this.frame.head.deadlineMs).toISOString();
    return { task, request: makeRequest(this.frame, task, this.plugin, this.#payload, this.state.fresh(), deadlineAt) };
  }

  /** Adds an outcome, which the next call of `send` sends together with others. */
  ended(task: number, settled: TaskResult, startedUs: number, runUs: number): void {
    this.#ended.push(outcomeOf(task, settled, startedUs, runUs));
  }

  /** Gives back to the ledger the tasks whose requests have not been sent. */
  takeBack(reason: ReturnReason): void {
    this.send();
    this.#sender.returned(this.frame.head.frameId, this.#next, this.#end, reason);
    this.#end = this.#next;
  }

  /** Gives back to the ledger a task whose request was sent to the process and is unanswered. */
  giveBack(task: number, reason: ReturnReason): void {
    this.#sender.returned(this.frame.head.frameId, task, task + 1, reason);
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
      this.takeBack('crowded');
      return;
    }
    this.send();
    this.#slow?.refresh();
  }
}
