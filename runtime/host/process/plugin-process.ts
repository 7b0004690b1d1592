// A process of a plugin gets requests on its stdin, and writes the answers to its stdout.
//
// For a persistent process, each request and each answer is a line; an answer has the same `id` as its request. A process for a single
// attempt gets one request, and everything that it prints until it ends is the answer.

import { parseExactly } from '../../exact-json.ts';
import { answerOfDuctile, resultBytesOfDuctile } from '../wire/ductile.ts';
import { LearnedMask } from '../wire/mask.ts';
import { OutputTail } from '../wire/output-tail.ts';
import type { HostedPlugin, Verdict } from '../wire/plugin-host.ts';
import type { AnyRequest } from '../wire/request.ts';
import {
  describe,
  responseBytesMax,
  resultOfAnswer,
  resultOfFailure,
  type TaskResult,
  tooLargeReason,
} from '../wire/response.ts';
import { LineReader } from './lines.ts';
import { endText, killDelayMs, type Program, type ProgramEnd } from './program.ts';

/** The maximum length of an answer: a line of a persistent process, or the whole stdout of a process for a single attempt. */
export const stdoutBytesMax = 10 * 2 ** 20;
/** The time from SIGTERM to SIGKILL for a process that has received a cancel and has not answered the request in time. */
const cancelKillDelayMs = 1_000;
/** How much of the last line on stderr becomes part of the error of a process that ended without an answer. */
const lastLineCharsMax = 200;
/** The exit status by which a process declares its failure permanent. */
const permanentStatus = 78;

/** How a process ended. `reason`: why the request on which the process was working has failed. */
export type ProcessEnd = {
  readonly reason: string;
  readonly verdict: Verdict | 'cancelled';
  readonly permanent: boolean;
  /**
   * False in two cases: the process was stopped because of a deadline or a cancel; or it kept to the protocol, answered all its
   * requests, and ended with exit status 0 or after its stdin was closed.
   */
  readonly isCrash: boolean;
  /** Whether the process ended by itself without an answer. Its last line on stderr may then say more than `reason`. */
  readonly isUnexplained: boolean;
};

export type ProcessAnswer<Key> = {
  readonly key: Key;
  readonly value: unknown;
  /** How many integers in the answer became text (exact-json.ts). */
  readonly integersAsText: number;
  /** Whether the process was for a single attempt and ended with the exit status of a permanent failure. */
  readonly permanent: boolean;
};

/** Sends requests and receives their answers. A process has at most one requester at a time. `Key`: the requester's name for a request. */
export interface Requester<Key> {
  /** Receives answers that arrived together, in order. May get an empty list if the process is killed for an invalid answer. */
  onAnswers(answers: readonly ProcessAnswer<Key>[]): void;
  /** Called when the process has ended. The requests that are still in `unanswered` get no answers. */
  onEnd(end: ProcessEnd): void;
}

export class PluginProcess<Key> {
  readonly ended: Promise<ProcessEnd>;
  /** Unanswered requests by their `id` on the wire, oldest first. */
  readonly unanswered = new Map<number, Key>();
  readonly #plugin: HostedPlugin;
  readonly #program: Program;
  readonly #isPersistent: boolean;
  readonly #stdout: LineReader;
  readonly #secrets = new LearnedMask();
  readonly #stderr = new OutputTail();
  #ids = 0;
  #requester: Requester<Key> | null = null;
  #failure: Pick<ProcessEnd, 'reason' | 'verdict' | 'permanent'> | null = null;
  /**
   * Whether the output of the process may still contain answers. False once an answer was invalid, or the process is being stopped; but a
   * process for a single attempt that is stopped because of a cancel may still answer.
   */
  #mayAnswer = true;
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
      if (this.#mayAnswer) this.#take(this.#stdout.push(chunk));
    });
    program.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
  }

  /** Whether the process has ended or is being stopped. Such a process must get no more requests. */
  get isOver(): boolean {
    return this.#hasEnded || this.#failure !== null;
  }

  /** The number of requests that were sent to the process. */
  get requests(): number {
    return this.#ids;
  }

  /** Sets the requester that gets the answers from now on. `requester` may be null while no request is unanswered. */
  attach(requester: Requester<Key> | null): void {
    this.#requester = requester;
  }

  /** Adds the packed secrets of a frame to the secrets that are masked in the output of the process. */
  learn(secrets: Uint8Array | null): void {
    if (secrets === null) return;
    this.#secrets.learn(secrets);
    this.#stderr.hide(this.#secrets.mask);
  }

  ask(requests: readonly (readonly [key: Key, request: AnyRequest])[]): void {
    let lines = '';
    for (const [key, request] of requests) {
      this.unanswered.set(++this.#ids, key);
      const text = JSON.stringify(request);
      lines += this.#isPersistent ? `{"id":${this.#ids},${text.slice(1)}\n` : `${text}\n`;
    }
    if (lines === '' || !this.#program.hasStarted) return;
    // If the program ends without reading its input, the write fails; `Program` ignores that error.
    if (this.#isPersistent) this.#program.stdin.write(lines);
    else this.#program.stdin.end(lines);
  }

  /**
   * Makes the result of an answered task. The result includes the text that the process has written to stderr since its previous result.
   */
  settle({ value, integersAsText, permanent }: ProcessAnswer<Key>): TaskResult {
    const stderr = this.#hasEnded ? this.#stderr.text() : this.#stderr.take();
    const isDuctile = this.#plugin.dialect === 'ductile';
    // Measured first, because packing thousands of copies of a large result would block the other plugins of the host.
    const bytes = isDuctile ? resultBytesOfDuctile(value) : 0;
    if (bytes > responseBytesMax)
      return resultOfFailure(tooLargeReason(bytes), true, { stderr }, 'error', this.#secrets.mask);
    const answer = isDuctile ? answerOfDuctile(value) : value;
    const settled = resultOfAnswer(answer, true, { stderr, integersAsText }, this.#secrets.mask);
    return permanent && settled.verdict !== 'ok' ? { ...settled, permanent } : settled;
  }

  /** Makes the result of a task that fails because the process has ended. */
  settleEnd({ reason, verdict, permanent, isUnexplained }: ProcessEnd): TaskResult {
    const shown = verdict === 'cancelled' ? 'error' : verdict;
    const stderr = this.#stderr.text();
    const last = isUnexplained ? lastLineOf(stderr) : '';
    const error = last === '' ? reason : `${reason}: ${last}`;
    return resultOfFailure(error, permanent, { stderr }, shown, this.#secrets.mask);
  }

  /** Closes stdin. The process gets no more requests and should end by itself; otherwise it is killed after `killDelayMs`. */
  release(): void {
    this.#mayEnd = true;
    this.#program.endInput();
  }

  /** Stops the process although requests are unanswered: their answers are no longer needed, or the oldest is past its deadline. */
  terminate(reason = 'ended with unanswered requests'): void {
    this.#failure ??= { reason, verdict: 'timed_out', permanent: false };
    this.#mayAnswer = false;
    this.#program.terminate();
  }

  /** The `id` on the wire of the unanswered request with this key; undefined if there is no such request. */
  idOf(wanted: Key): number | undefined {
    for (const [id, key] of this.unanswered) if (key === wanted) return id;
    return undefined;
  }

  /**
   * Cancels a request. A process with `hearsCancel` receives the cancel, and is stopped if it does not answer within `killDelayMs`. Any
   * other process is stopped at once.
   */
  cancel(id: number, reason: string): void {
    if (this.#failure !== null || this.#hasEnded) return;
    if (!this.#plugin.persistent?.hearsCancel) {
      this.#stop(reason);
      return;
    }
    this.#program.stdin.write(`{"cancel":${id}}\n`);
    setTimeout(() => {
      if (this.unanswered.has(id) && !this.isOver) this.#stop(reason, cancelKillDelayMs);
    }, killDelayMs);
  }

  #stop(reason: string, delayMs = killDelayMs): void {
    this.#failure ??= { reason, verdict: 'cancelled', permanent: false };
    this.#mayAnswer = !this.#isPersistent;
    this.#program.terminate(delayMs);
  }

  /** `texts`: the lines of a persistent process, or the whole output of a process for one attempt; null if a text is too long. */
  #take(texts: readonly string[] | null, permanent = false, how = ''): void {
    const answers: ProcessAnswer<Key>[] = [];
    let fault = texts === null ? `stdout has more than ${stdoutBytesMax} bytes` : null;
    for (const text of texts ?? []) {
      const read = this.#read(text, permanent, how);
      if (typeof read === 'string') fault = read;
      else answers.push(read);
      if (fault !== null) break;
    }
    if (fault !== null) {
      // The process is killed, because after an invalid answer, later answers could be assigned to the wrong requests.
      this.#failure ??= { reason: fault, verdict: 'error', permanent };
      this.#mayAnswer = false;
      this.#program.kill();
    }
    if (answers.length > 0 || fault !== null) this.#requester?.onAnswers(answers);
  }

  /** Reads an answer. If the text is not a valid answer, returns a text that says why. */
  #read(text: string, permanent: boolean, how: string): ProcessAnswer<Key> | string {
    const { mask } = this.#secrets;
    let value: unknown;
    let integersAsText: number;
    try {
      ({ value, integersAsText } = parseExactly(text));
    } catch (error) {
      const what = this.#isPersistent ? 'a line on stdout is not JSON' : `the response is not JSON (${how})`;
      // The parser quotes invalid input, which may contain a part of a secret.
      return mask === null ? `${what}: ${describe(error)}` : what;
    }
    const id = this.#isPersistent ? (value as { readonly id?: unknown } | null)?.id : this.#ids;
    if (id === undefined) return 'a line on stdout has no id';
    const key = this.unanswered.get(id as number);
    if (key === undefined) {
      const shown = JSON.stringify(id);
      return `a line on stdout has the id ${(mask?.text(shown) ?? shown).slice(0, 40)}, which no open request has`;
    }
    this.unanswered.delete(id as number);
    return { key, value, integersAsText, permanent };
  }

  #end(end: ProgramEnd): ProcessEnd {
    this.#hasEnded = true;
    const permanent = end.kind === 'exit' && end.code === permanentStatus;
    const how = end.kind === 'exit' ? endText(end) : '';
    // The text after the last line end is an answer, too. If the process is for a single attempt, its whole output is the answer. A valid
    // answer counts, whatever the exit status. A persistent process may end in the middle of a line, which is no answer.
    const last = this.#stdout.end();
    if (this.#mayAnswer && end.kind === 'exit' && (!this.#isPersistent || last.every(isJson))) {
      this.#take(last, permanent && !this.#isPersistent, how);
    }
    const isQuiet = this.unanswered.size === 0 && (this.#mayEnd || (end.kind === 'exit' && end.code === 0));
    const none = this.#isPersistent ? `the process ended (${how}) without an answer` : `no response on stdout (${how})`;
    const reason = end.kind === 'refused' ? end.reason : none;
    const failure = this.#failure ?? { reason, verdict: 'error', permanent };
    const isCrash = failure.verdict === 'error' && !(isQuiet && this.#failure === null);
    const ended = { ...failure, isCrash, isUnexplained: this.#failure === null && end.kind === 'exit' };
    this.#requester?.onEnd(ended);
    return ended;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The last line that is not indented. Indented lines are usually the frames of a stack, and Node ends the report of an uncaught error with `}` and
 * its own version.
 */
function lastLineOf(text: string): string {
  const lines = text.split(/[\r\n]+/).filter(line => line.trim() !== '');
  const line = (lines.findLast(line => !/^(\s|\}|Node\.js v)/.test(line)) ?? lines.at(-1) ?? '').trim();
  return line.length <= lastLineCharsMax ? line : `${line.slice(0, lastLineCharsMax)}…`;
}
