// A process of a plugin: requests go to its stdin, answers come from its stdout.
//
// A persistent process gets one request a line, and answers each with a line that has the same `id`. A process for a single attempt
// gets one request, and everything that it prints until it ends is the answer.

import { parseExactly } from '../../exact-json.ts';
import { answerOfDuctile } from '../wire/ductile.ts';
import { LearnedMask } from '../wire/mask.ts';
import { OutputTail } from '../wire/output-tail.ts';
import type { HostedPlugin, Verdict } from '../wire/plugin-host.ts';
import type { AnyRequest } from '../wire/request.ts';
import { describe, resultOfAnswer, resultOfFailure, type TaskResult, timeOutReason } from '../wire/response.ts';
import { LineReader } from './lines.ts';
import { endText, killDelayMs, type Program, type ProgramEnd } from './program.ts';

/** The maximum length of an answer. */
export const stdoutBytesMax = 10 * 2 ** 20;
/** The time from SIGTERM to SIGKILL for a process that did not react to a cancel in time. */
const toldKillDelayMs = 1_000;
/** The exit status of a permanent failure. */
const permanentStatus = 78;

/** How the process ended, for the request that it would have answered next. */
export type ProcessEnd = {
  readonly reason: string;
  readonly verdict: Verdict | 'cancelled';
  readonly permanent: boolean;
  /** It ended unexpectedly: without a request to end, without being late, and not with status 0 after answering everything. */
  readonly isCrash: boolean;
};

export type ProcessAnswer<Asked> = {
  readonly asked: Asked;
  readonly said: unknown;
  /** How many of its integers became text. */
  readonly texted: number;
  /** Whether the process exited with the status of permanent failures. */
  readonly permanent: boolean;
};

/** Sends requests and receives their answers. A process has one asker at a time. */
export interface Asker<Asked> {
  /** Answers that arrived together, in order. None: the process broke the protocol and is being killed. */
  onAnswers(answers: readonly ProcessAnswer<Asked>[]): void;
  /** The process has ended. Requests in `asked` remain unanswered. */
  onEnd(end: ProcessEnd): void;
}

export class PluginProcess<Asked> {
  readonly ended: Promise<ProcessEnd>;
  /** Unanswered requests by their `id` on the wire, oldest first. */
  readonly asked = new Map<number, Asked>();
  readonly #plugin: HostedPlugin;
  readonly #program: Program;
  readonly #isPersistent: boolean;
  readonly #stdout: LineReader;
  readonly #secrets = new LearnedMask();
  readonly #stderr = new OutputTail();
  #ids = 0;
  #asker: Asker<Asked> | null = null;
  #failure: Omit<ProcessEnd, 'isCrash'> | null = null;
  #mayEnd = false;
  #hasEnded = false;

  constructor(plugin: HostedPlugin, program: Program) {
    this.#plugin = plugin;
    this.#program = program;
    this.#isPersistent = plugin.persistent !== undefined;
    this.#stdout = new LineReader(stdoutBytesMax, this.#isPersistent);
    this.ended = program.ended.then(end => this.#end(end));
    if (!program.hasStarted) return;
    program.stdout.on('data', (chunk: Buffer) => {
      if (this.#failure === null) this.#take(this.#stdout.push(chunk));
    });
    program.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
  }

  /** The process has ended or is ending, and takes no more requests. */
  get isOver(): boolean {
    return this.#hasEnded || this.#failure !== null;
  }

  /** How many requests the process has received. */
  get requests(): number {
    return this.#ids;
  }

  /** Answers go to this asker from now on; null: there are no requests. */
  attach(asker: Asker<Asked> | null): void {
    this.#asker = asker;
  }

  /** Adds the packed secrets of a frame, which are masked in all later output of the process. */
  learn(secrets: Uint8Array | null): void {
    if (secrets === null) return;
    this.#secrets.learn(secrets);
    this.#stderr.hide(this.#secrets.mask);
  }

  ask(requests: readonly (readonly [asked: Asked, request: AnyRequest])[]): void {
    let lines = '';
    for (const [asked, request] of requests) {
      this.asked.set(++this.#ids, asked);
      const text = JSON.stringify(request);
      lines += this.#isPersistent ? `{"id":${this.#ids},${text.slice(1)}\n` : `${text}\n`;
    }
    if (lines === '' || !this.#program.hasStarted) return;
    // A write fails if the program ends without reading its input.
    if (this.#isPersistent) this.#program.stdin.write(lines);
    else this.#program.stdin.end(lines);
  }

  /** The result of an answered task, including what the process has written to stderr since its last answer. */
  settle({ said, texted, permanent }: ProcessAnswer<Asked>): TaskResult {
    const answer = this.#plugin.dialect === 'ductile' ? answerOfDuctile(said) : said;
    const stderr = this.#hasEnded ? this.#stderr.text() : this.#stderr.take();
    const settled = resultOfAnswer(answer, true, { stderr, texted }, this.#secrets.mask);
    return permanent && settled.verdict !== 'ok' ? { ...settled, permanent } : settled;
  }

  /** The result of the task during which the process died. */
  settleEnd({ reason, verdict, permanent }: ProcessEnd): TaskResult {
    const shown = verdict === 'cancelled' ? 'error' : verdict;
    return resultOfFailure(reason, permanent, { stderr: this.#stderr.text() }, shown, this.#secrets.mask);
  }

  /** Closes stdin. The process receives no more requests and ends by itself. */
  release(): void {
    this.#mayEnd = true;
    this.#program.endInput();
  }

  /** Ends the process despite unanswered requests, whose answers are no longer needed. */
  terminate(): void {
    this.#failure ??= { reason: 'ended with unanswered requests', verdict: 'timed_out', permanent: false };
    this.#program.terminate();
  }

  /** The id of an unanswered request. */
  idOf(wanted: Asked): number | undefined {
    for (const [id, asked] of this.asked) if (asked === wanted) return id;
    return undefined;
  }

  /** Cancels a request. A process that supports cancels gets a message, and has `killDelayMs` to answer; any other process is stopped. */
  cancel(id: number, reason: string): void {
    if (this.#failure !== null || this.#hasEnded) return;
    if (!this.#plugin.persistent?.hearsCancel) {
      this.#stop(reason);
      return;
    }
    this.#program.stdin.write(`{"cancel":${id}}\n`);
    setTimeout(() => {
      if (this.asked.has(id)) this.#stop(reason, toldKillDelayMs);
    }, killDelayMs);
  }

  #stop(reason: string, delayMs = killDelayMs): void {
    this.#failure ??= { reason, verdict: 'cancelled', permanent: false };
    this.#program.terminate(delayMs);
  }

  /** Called when the oldest request is past its deadline. */
  expire(deadlineMs: number): void {
    this.#failure ??= { reason: timeOutReason(deadlineMs), verdict: 'timed_out', permanent: false };
    this.#program.terminate();
  }

  /** `texts`: lines, or the whole output of a process for one attempt; null: the output is too long. */
  #take(texts: readonly string[] | null, permanent = false, how = ''): void {
    const answers: ProcessAnswer<Asked>[] = [];
    let fault = texts === null ? `stdout has more than ${stdoutBytesMax} bytes` : null;
    for (const text of texts ?? []) {
      const read = this.#read(text, permanent, how);
      if (typeof read === 'string') fault = read;
      else answers.push(read);
      if (fault !== null) break;
    }
    if (fault !== null) {
      // After an invalid answer, later answers could be assigned to the wrong requests.
      this.#failure ??= { reason: fault, verdict: 'error', permanent };
      this.#program.kill();
    }
    if (answers.length > 0 || fault !== null) this.#asker?.onAnswers(answers);
  }

  /** The answer, or what is wrong with it. */
  #read(text: string, permanent: boolean, how: string): ProcessAnswer<Asked> | string {
    const { mask } = this.#secrets;
    let said: unknown;
    let texted: number;
    try {
      ({ value: said, texted } = parseExactly(text));
    } catch (error) {
      const what = this.#isPersistent ? 'a line on stdout is not JSON' : `the response is not JSON (${how})`;
      // The parser quotes invalid input, which may contain a part of a secret.
      return mask === null ? `${what}: ${describe(error)}` : what;
    }
    const id = this.#isPersistent ? (said as { readonly id?: unknown } | null)?.id : this.#ids;
    if (id === undefined) return 'a line on stdout has no id';
    const asked = this.asked.get(id as number);
    if (asked === undefined) {
      const shown = JSON.stringify(id);
      return `a line on stdout has the id ${(mask?.text(shown) ?? shown).slice(0, 40)}, which no open request has`;
    }
    this.asked.delete(id as number);
    return { asked, said, texted, permanent };
  }

  #end(end: ProgramEnd): ProcessEnd {
    this.#hasEnded = true;
    const permanent = end.kind === 'exit' && end.code === permanentStatus;
    const how = end.kind === 'exit' ? endText(end) : '';
    // A process for one attempt has ended: its output is the answer. Valid JSON counts, whatever the exit status.
    if (this.#failure === null && end.kind === 'exit') {
      this.#take(this.#stdout.end(), permanent && !this.#isPersistent, how);
    }
    const isQuiet = this.asked.size === 0 && (this.#mayEnd || (end.kind === 'exit' && end.code === 0));
    const none = this.#isPersistent ? `the process ended (${how}) without an answer` : `no response on stdout (${how})`;
    const reason = end.kind === 'refused' ? end.reason : none;
    const failure = this.#failure ?? { reason, verdict: 'error', permanent };
    const isCrash = failure.verdict === 'error' && !(isQuiet && this.#failure === null);
    const ended = { ...failure, isCrash };
    this.#asker?.onEnd(ended);
    return ended;
  }
}
