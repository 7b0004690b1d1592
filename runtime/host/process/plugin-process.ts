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

/** Of one answer. */
export const stdoutBytesMax = 10 * 2 ** 20;
/** From SIGTERM to SIGKILL, of a process that was told of a cancel and had its time. */
const toldKillDelayMs = 1_000;
/** The exit status of a failure that no retry would mend. */
const permanentStatus = 78;

/** How the process ended, for the request that it was about to answer. */
export type ProcessEnd = {
  readonly reason: string;
  readonly verdict: Verdict | 'cancelled';
  readonly permanent: boolean;
  /** It was neither told to end, nor late, nor did it exit with status 0 when it had answered everything. */
  readonly isCrash: boolean;
};

export type ProcessAnswer<Asked> = {
  readonly asked: Asked;
  readonly said: unknown;
  /** How many of its integers became text. */
  readonly texted: number;
  /** The process exited with the status of permanent failures. */
  readonly permanent: boolean;
};

/** Sends the requests, one caller at a time. */
export interface Asker<Asked> {
  /** Answers that came together, in their order. None: the process broke the protocol, and is being killed. */
  onAnswers(answers: readonly ProcessAnswer<Asked>[]): void;
  /** The process has ended: what is still in `asked` stays unanswered. */
  onEnd(end: ProcessEnd): void;
}

export class PluginProcess<Asked> {
  readonly ended: Promise<ProcessEnd>;
  /** Requests without an answer, by the `id` that they have on the wire, the oldest first. */
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

  /** It has ended or is about to: it can be asked nothing more. */
  get isOver(): boolean {
    return this.#hasEnded || this.#failure !== null;
  }

  /** How many requests it has been sent. */
  get requests(): number {
    return this.#ids;
  }

  /** From now on answers go to this asker; null: nobody has asked. */
  attach(asker: Asker<Asked> | null): void {
    this.#asker = asker;
  }

  /** The packed secrets of a frame, which are masked in everything that the process says from now on. */
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
    // The program may end without reading it.
    if (this.#isPersistent) this.#program.stdin.write(lines);
    else this.#program.stdin.end(lines);
  }

  /** The result of a task that the process answered, with what it wrote to stderr since its last answer. */
  settle({ said, texted, permanent }: ProcessAnswer<Asked>): TaskResult {
    const answer = this.#plugin.dialect === 'ductile' ? answerOfDuctile(said) : said;
    const stderr = this.#hasEnded ? this.#stderr.text() : this.#stderr.take();
    const settled = resultOfAnswer(answer, true, { stderr, texted }, this.#secrets.mask);
    return permanent && settled.verdict !== 'ok' ? { ...settled, permanent } : settled;
  }

  /** The result of the task that the process died of. */
  settleEnd({ reason, verdict, permanent }: ProcessEnd): TaskResult {
    const shown = verdict === 'cancelled' ? 'error' : verdict;
    return resultOfFailure(reason, permanent, { stderr: this.#stderr.text() }, shown, this.#secrets.mask);
  }

  /** Lets it go: it is asked nothing more, and ends at the end of its stdin. */
  release(): void {
    this.#mayEnd = true;
    this.#program.endInput();
  }

  /** Ends it although it owes answers that nobody waits for. */
  terminate(): void {
    this.#failure ??= { reason: 'the process owes answers', verdict: 'timed_out', permanent: false };
    this.#program.terminate();
  }

  /** The id of a request that has no answer. */
  idOf(wanted: Asked): number | undefined {
    for (const [id, asked] of this.asked) if (asked === wanted) return id;
    return undefined;
  }

  /** The request is no longer wanted. A process that knows of cancels is told, and has `killDelayMs` to answer; others are stopped. */
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

  /** The oldest request is past its deadline. */
  expire(deadlineMs: number): void {
    this.#failure ??= { reason: timeOutReason(deadlineMs), verdict: 'timed_out', permanent: false };
    this.#program.terminate();
  }

  /** `texts`: lines, or everything that the process of a single attempt has printed; null: there is too much of it. */
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
      // Its next answers could be taken for those to other requests.
      this.#failure ??= { reason: fault, verdict: 'error', permanent };
      this.#program.kill();
    }
    if (answers.length > 0 || fault !== null) this.#asker?.onAnswers(answers);
  }

  /** The answer; or what is wrong with it. */
  #read(text: string, permanent: boolean, how: string): ProcessAnswer<Asked> | string {
    const { mask } = this.#secrets;
    let said: unknown;
    let texted: number;
    try {
      ({ value: said, texted } = parseExactly(text));
    } catch (error) {
      const what = this.#isPersistent ? 'a line on stdout is not JSON' : `the response is not JSON (${how})`;
      // The parser quotes what it cannot read, which may be a piece of a secret.
      return mask === null ? `${what}: ${describe(error)}` : what;
    }
    const id = this.#isPersistent ? (said as { readonly id?: unknown } | null)?.id : this.#ids;
    if (id === undefined) return 'a line on stdout has no id';
    const asked = this.asked.get(id as number);
    if (asked === undefined) {
      const shown = JSON.stringify(id);
      return `a line on stdout has the id ${(mask?.text(shown) ?? shown).slice(0, 40)}, which waits for no answer`;
    }
    this.asked.delete(id as number);
    return { asked, said, texted, permanent };
  }

  #end(end: ProgramEnd): ProcessEnd {
    this.#hasEnded = true;
    const permanent = end.kind === 'exit' && end.code === permanentStatus;
    const how = end.kind === 'exit' ? endText(end) : '';
    // Of a process for one attempt this is the answer: valid JSON counts, whatever the exit status.
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
