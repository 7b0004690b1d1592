// A frame of a process plugin on its way: which tasks have begun, what each is asked, and how those ended that are not told yet.
import { type Json, unpack } from '../../packing.ts';
import { Frame } from '../wire/frame.ts';
import { Mask } from '../wire/mask.ts';
import type { Body } from '../wire/outcome.ts';
import type { OutcomeHead } from '../wire/outcome-message.ts';
import type { HostedPlugin } from '../wire/port.ts';
import { type AnyRequest, makeRequest } from '../wire/request.ts';
import { type Settled, settleFailure } from '../wire/response.ts';
import type { PayloadCheck, PayloadChecks } from '../wire/schema.ts';
import { FrameState } from '../wire/state.ts';
import type { Reports } from './reports.ts';

/** When nothing has ended for so long, those behind in the frame go back. */
const slowMs = 5;
/** The same of programs for an attempt each; and what has ended is told at least so often. A frame of theirs is to take less. */
const slowProgramMs = 30;
/** A frame that gets no place waits so long before it goes back. */
const patienceMs = 50;

export class Flight {
  readonly frame: Frame;
  readonly plugin: HostedPlugin;
  readonly mask: Mask | null;
  readonly state: FrameState;
  /** Whether it has one of the places. */
  hasBegun = false;
  readonly #reports: Reports;
  #next = 0;
  #end: number;
  #check: PayloadCheck | null = null;
  #slow: NodeJS.Timeout | null = null;
  #ended: (readonly [OutcomeHead, Body])[] = [];

  /** The frame's bytes are a view of what came over the pipe: they are copied. */
  constructor(bytes: Buffer, plugin: HostedPlugin, reports: Reports) {
    this.frame = new Frame(Buffer.from(bytes));
    this.plugin = plugin;
    this.mask = Mask.of(this.frame.secrets);
    this.state = new FrameState(this.frame.state, plugin.commands[this.frame.command]?.replacesState);
    this.#reports = reports;
    this.#end = this.frame.head.count;
  }

  /** All places are taken. */
  wait(): void {
    this.#slow = setTimeout(() => this.takeBack(), patienceMs);
  }

  async begin(checks: PayloadChecks): Promise<void> {
    this.over();
    this.hasBegun = true;
    const schema = this.plugin.commands[this.frame.command]?.inputSchema;
    if (schema) this.#check = await checks.of(schema);
  }

  /** Something has ended: what waits behind it need not go back yet. */
  moved(): void {
    this.#slow?.refresh();
  }

  /** Whether tasks are left that have not begun. */
  get hasNext(): boolean {
    return this.#next < this.#end;
  }

  /** Begins the next task. */
  next(): number {
    // Not before: a frame of which nothing runs would come and go for ever.
    this.#slow ??= setTimeout(() => this.#ring(), this.plugin.persistent === undefined ? slowProgramMs : slowMs);
    return this.#next++;
  }

  /** A task's outcome is told with others: when the frame is over, or soon. */
  ended(head: OutcomeHead, body: Body): void {
    this.#ended.push([head, body]);
  }

  /** Gives back what has not begun. */
  takeBack(): void {
    this.#tell();
    this.#reports.returned(this.frame.head.frameId, this.#next, this.#end);
    this.#end = this.#next;
  }

  over(): void {
    if (this.#slow !== null) clearTimeout(this.#slow);
    this.#slow = null;
    this.#tell();
  }

  #ring(): void {
    if (this.#ended.length === 0) {
      this.takeBack();
      return;
    }
    this.#tell();
    this.#slow?.refresh();
  }

  #tell(): void {
    if (this.#ended.length > 0) this.#reports.outcomes(this.frame.head.frameId, this.#ended);
    this.#ended = [];
  }

  /** What the task is asked; or how it ends, when its payload is wrong. */
  request(task: number): { readonly request: AnyRequest } | { readonly settled: Settled } {
    const { frame, plugin, state } = this;
    const payload = unpack<Json>(frame.payload(task));
    const mismatch = this.#check === null ? null : this.#check(payload);
    if (mismatch !== null) return { settled: settleFailure(mismatch, true) };
    const deadlineAt = new Date(Date.now() + frame.head.deadlineMs).toISOString();
    return { request: makeRequest(frame, task, plugin, payload, state.fresh(), deadlineAt) };
  }
}
