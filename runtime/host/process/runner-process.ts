// A persistent process that is asked many requests at once: answers are matched by their ids, and come in any order.
import { steadyUs, timerMsMax } from '../../clock.ts';
import { type Json, unpack } from '../../packing.ts';
import type { Frame } from '../wire/frame.ts';
import { LearnedMask } from '../wire/mask.ts';
import type { Body } from '../wire/outcome.ts';
import type { OutcomeHead } from '../wire/outcome-message.ts';
import type { HostedPlugin } from '../wire/port.ts';
import { makeRequest, unpackObject } from '../wire/request.ts';
import { type Settled, settleAnswer, settleFailure, timeOutReason } from '../wire/response.ts';
import type { PayloadCheck } from '../wire/schema.ts';
import { Tail } from '../wire/tail.ts';
import { type Failure, takeAnswer, unanswered } from './answer-line.ts';
import { stdoutBytesMax, tooLongReason } from './attempt.ts';
import { LineReader } from './lines.ts';
import type { Program, ProgramEnd } from './program.ts';
import type { Reports } from './reports.ts';
import { RunnerFlight } from './runner-frame.ts';

/** An answer may come so long after its deadline; then the process takes nothing new. */
const graceMs = 100;

export type RunnerProcessEvents = {
  /** It takes no more frames. */
  onSpent(): void;
  /** It is gone; null: it did not crash. */
  onGone(crash: string | null): void;
};

type Open = { readonly flight: RunnerFlight; readonly frame: Frame; readonly check: PayloadCheck | null };
type Waiting = { readonly open: Open; readonly task: number };
type Asked = Waiting & { readonly startedMs: number; timer: NodeJS.Timeout | null; isLate: boolean };

export class RunnerProcess {
  readonly #plugin: HostedPlugin;
  readonly #program: Program;
  readonly #reports: Reports;
  readonly #events: RunnerProcessEvents;
  /** Resolves when nothing runs of what belongs to programs that have ended. */
  readonly #leftovers: () => Promise<void>;
  readonly #lines = new LineReader(stdoutBytesMax);
  readonly #secrets = new LearnedMask();
  readonly #stderr = new Tail();
  readonly #flights = new Set<RunnerFlight>();
  /** By their ids on the wire, the oldest first. */
  readonly #asked = new Map<number, Asked>();
  #waiting: Waiting[] = [];
  #ids = 0;
  /** Of those that are asked the ones that have no answer long after their deadline. */
  #stale = 0;
  #isSpent = false;
  #isGone = false;
  #fault: Failure | null = null;

  constructor(
    plugin: HostedPlugin,
    program: Program,
    reports: Reports,
    leftovers: () => Promise<void>,
    events: RunnerProcessEvents,
  ) {
    this.#plugin = plugin;
    this.#program = program;
    this.#reports = reports;
    this.#leftovers = leftovers;
    this.#events = events;
    void program.ended.then(end => this.#gone(end));
    if (!program.hasStarted) return;
    program.stdout.on('data', (chunk: Buffer) => this.#take(this.#lines.push(chunk)));
    program.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
  }

  get isBusy(): boolean {
    return this.#flights.size > 0;
  }

  ask(frame: Frame, check: PayloadCheck | null): void {
    const flight = new RunnerFlight(frame.head);
    this.#flights.add(flight);
    if (frame.secrets !== null) {
      this.#secrets.learn(frame.secrets);
      this.#stderr.hide(this.#secrets.mask);
    }
    for (let task = 0; task < frame.head.count; task++) this.#waiting.push({ open: { flight, frame, check }, task });
    if (this.#isSpent) this.#giveBack();
    else this.#askWaiting();
  }

  /** It takes nothing new, and ends when all that it was asked is over. */
  retire(): void {
    if (this.#isSpent) return;
    this.#close();
    this.#endWhenAlone();
  }

  /** From now on it takes nothing: what it was not asked goes back. */
  #close(): void {
    this.#isSpent = true;
    this.#events.onSpent();
    this.#giveBack();
  }

  #askWaiting(): void {
    let lines = '';
    const { jobsMax } = this.#plugin.persistent!;
    while (!this.#isSpent && this.#waiting.length > 0) {
      if (this.#asked.size >= this.#waiting[0]!.open.frame.head.concurrency) break;
      lines += this.#lineOf(this.#waiting.shift()!);
      if (jobsMax !== null && this.#ids >= jobsMax) this.retire();
    }
    if (lines !== '' && this.#program.hasStarted) this.#program.stdin.write(lines);
  }

  /** The line that asks the task; empty where its payload is wrong. */
  #lineOf({ open, task }: Waiting): string {
    const { frame, check } = open;
    const { deadlineMs } = frame.head;
    const asked: Asked = { open, task, startedMs: performance.now(), timer: null, isLate: false };
    const payload = unpack<Json>(frame.payload(task));
    const mismatch = check === null ? null : check(payload);
    if (mismatch !== null) {
      this.#report([[asked, settleFailure(mismatch, true)]]);
      return '';
    }
    const deadlineAt = new Date(Date.now() + deadlineMs).toISOString();
    const request = makeRequest(frame, task, this.#plugin, payload, unpackObject(frame.state), deadlineAt);
    const id = ++this.#ids;
    asked.timer = setTimeout(() => this.#expire(asked), Math.min(deadlineMs, timerMsMax));
    this.#asked.set(id, asked);
    return `{"id":${id},${JSON.stringify(request).slice(1)}\n`;
  }

  #take(lines: readonly string[] | null): void {
    if (this.#fault !== null) return;
    const ended: [Asked, Settled][] = [];
    let fault = lines === null ? tooLongReason : null;
    for (const line of lines ?? []) {
      const read = takeAnswer(line, this.#asked, this.#secrets.mask);
      if (typeof read === 'string') {
        fault = read;
        break;
      }
      const { asked, answer, texted } = read;
      if (asked.timer !== null) clearTimeout(asked.timer);
      else this.#stale--;
      // What comes after the deadline is dropped; its place is free.
      if (!asked.isLate)
        ended.push([asked, settleAnswer(answer, true, { stderr: this.#stderr.take(), texted }, this.#secrets.mask)]);
    }
    this.#report(ended);
    if (fault !== null) {
      this.#fault = { reason: fault, verdict: 'error', permanent: false };
      this.#close();
      this.#program.kill();
      return;
    }
    this.#askWaiting();
    if (this.#isSpent) this.#endWhenAlone();
  }

  #expire(asked: Asked): void {
    const { deadlineMs } = asked.open.frame.head;
    asked.isLate = true;
    this.#report([[asked, settleFailure(timeOutReason(deadlineMs), false, {}, 'timed_out')]]);
    asked.timer = setTimeout(() => {
      asked.timer = null;
      this.#stale++;
      if (this.#isSpent) this.#endWhenAlone();
      else this.retire();
    }, graceMs);
  }

  #endWhenAlone(): void {
    if (this.#asked.size > this.#stale || this.#isGone) return;
    if (this.#stale > 0) this.#program.terminate();
    else this.#program.endInput();
  }

  /** What was not asked goes back as it came. */
  #giveBack(): void {
    for (const { open, task } of this.#waiting.splice(0)) {
      this.#reports.returned(open.frame.head.frameId, task, task + 1);
      this.#end(open.flight, task);
    }
  }

  async #gone(end: ProgramEnd): Promise<void> {
    const wasSpent = this.#isSpent;
    this.#isGone = true;
    this.#close();
    this.#take(this.#lines.end());
    const open = [...this.#asked.values()].filter(({ isLate }) => !isLate);
    for (const { timer } of this.#asked.values()) if (timer !== null) clearTimeout(timer);
    const isQuiet = this.#asked.size === 0 && (wasSpent || (end.kind === 'exit' && end.code === 0));
    const isTold = this.#fault === null && (isQuiet || this.#stale > 0);
    const failure = this.#fault ?? unanswered(end);
    // It may run again: then nothing of this run may be left.
    if (open.length > 0) await this.#leftovers();
    const [only, ...others] = open;
    if (only !== undefined && others.length === 0) {
      const { reason, verdict, permanent } = failure;
      const aside = { stderr: this.#stderr.text() };
      this.#report([[only, settleFailure(reason, permanent, aside, verdict, this.#secrets.mask)]]);
    }
    // Which of several it died of is not known.
    for (const flight of this.#flights) flight.giveBack(this.#reports, true);
    this.#flights.clear();
    this.#events.onGone(isTold ? null : failure.reason);
  }

  #report(ended: readonly (readonly [Asked, Settled])[]): void {
    let batch: [OutcomeHead, Body][] = [];
    for (const [i, [{ open, task, startedMs }, { verdict, permanent, body }]] of ended.entries()) {
      const runUs = Math.round((performance.now() - startedMs) * 1000);
      batch.push([{ task, verdict, permanent, startedUs: steadyUs(startedMs), runUs }, body]);
      this.#end(open.flight, task);
      if (ended[i + 1]?.[0].open.frame === open.frame) continue;
      this.#reports.outcomes(open.frame.head.frameId, batch);
      batch = [];
    }
  }

  #end(flight: RunnerFlight, task: number): void {
    flight.end(task);
    if (flight.isOver) this.#flights.delete(flight);
  }
}
