// A process that stays for many jobs: a request per line on its stdin, an answer per line on its stdout, with the same `id`.
import { timerMsMax } from '../../clock.ts';
import { LearnedMask, type Mask } from '../wire/mask.ts';
import type { AnyRequest } from '../wire/request.ts';
import { timeOutReason } from '../wire/response.ts';
import { Tail } from '../wire/tail.ts';
import { type Failure, takeAnswer, unanswered } from './answer-line.ts';
import { stdoutBytesMax, tooLongReason } from './attempt.ts';
import { LineReader } from './lines.ts';
import type { Program, ProgramEnd } from './program.ts';

export type Question = { readonly task: number; readonly request: AnyRequest };
export type Answer = {
  readonly task: number;
  readonly answer: unknown;
  /** How many integers of it became text. */
  readonly texted: number;
};

/** Who asks: one at a time. */
export interface Asker {
  readonly deadlineMs: number;
  /** Packed, of the frame. */
  readonly secrets: Uint8Array | null;
  /** Answers that came together, in their order. */
  onAnswers(answers: readonly Answer[]): void;
  /** The process is gone: what it was asked stays without an answer. */
  onFailure(failure: Failure): void;
}

export class PersistentProcess {
  /** Resolves when it is gone: with a failure when it was not told to, and not late either. */
  readonly ended: Promise<Failure | null>;
  readonly #program: Program;
  readonly #lines = new LineReader(stdoutBytesMax);
  readonly #secrets = new LearnedMask();
  readonly #stderr = new Tail();
  /** Id on the wire -> task, of what is not answered yet. */
  readonly #asked = new Map<number, number>();
  #ids = 0;
  #asker: Asker | null = null;
  /** The id that is to be answered next, and when it is late. */
  #first: number | undefined;
  #deadline: NodeJS.Timeout | null = null;
  #failure: Failure | null = null;
  #mayEnd = false;
  #isOver = false;

  constructor(program: Program) {
    this.#program = program;
    this.ended = program.ended.then(end => this.#end(end));
    if (!program.hasStarted) return;
    program.stdout.on('data', (chunk: Buffer) => this.#take(this.#lines.push(chunk)));
    program.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
  }

  /** It is gone, or about to be: nothing more may be asked. */
  get isOver(): boolean {
    return this.#isOver || this.#failure !== null;
  }

  /** Questions so far. */
  get jobs(): number {
    return this.#ids;
  }

  /** Of all secrets that it was ever given. */
  get mask(): Mask | null {
    return this.#secrets.mask;
  }

  /** The next questions are this one's; null: nobody's. */
  attach(asker: Asker | null): void {
    this.#asker = asker;
    if (asker === null || asker.secrets === null) return;
    this.#secrets.learn(asker.secrets);
    this.#stderr.hide(this.mask);
  }

  /** Each has `deadlineMs` from the moment when it is the first that waits. */
  ask(questions: readonly Question[]): void {
    let lines = '';
    for (const { task, request } of questions) {
      this.#asked.set(++this.#ids, task);
      lines += `{"id":${this.#ids},${JSON.stringify(request).slice(1)}\n`;
    }
    this.#wind();
    if (this.#program.hasStarted) this.#program.stdin.write(lines);
  }

  /** What came on stderr since it was last asked for. */
  takeStderr(): string {
    return this.#stderr.take();
  }

  /** What is left of it, when the process is gone. */
  restOfStderr(): string {
    return this.#stderr.text();
  }

  /** Lets it go: nothing more is asked. */
  end(): void {
    this.#mayEnd = true;
    this.#program.endInput();
  }

  #take(lines: readonly string[] | null): void {
    if (this.#failure !== null) return;
    if (lines === null) {
      this.#fail(tooLongReason);
      return;
    }
    const answers: Answer[] = [];
    for (const line of lines) {
      const read = this.#read(line);
      if (typeof read === 'string') {
        this.#fail(read);
        break;
      }
      answers.push(read);
    }
    if (answers.length === 0) return;
    this.#wind();
    this.#asker?.onAnswers(answers);
  }

  /** The answer, or what is wrong with the line. */
  #read(line: string): Answer | string {
    const read = takeAnswer(line, this.#asked, this.mask);
    return typeof read === 'string' ? read : { task: read.asked, answer: read.answer, texted: read.texted };
  }

  /** It cannot be trusted to answer the right job any more. */
  #fail(reason: string): void {
    this.#failure ??= { reason, verdict: 'error', permanent: false };
    this.#program.kill();
  }

  /** Starts the time of the question that is first, if it has not been first before. */
  #wind(): void {
    const [first] = this.#asked.keys();
    if (first === this.#first) return;
    this.#first = first;
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    if (first === undefined || this.#asker === null) return;
    const { deadlineMs } = this.#asker;
    this.#deadline = setTimeout(() => this.#expire(deadlineMs), Math.min(deadlineMs, timerMsMax));
  }

  #expire(deadlineMs: number): void {
    if (this.#failure !== null) return;
    this.#failure = { reason: timeOutReason(deadlineMs), verdict: 'timed_out', permanent: false };
    this.#program.terminate();
  }

  #end(end: ProgramEnd): Failure | null {
    this.#isOver = true;
    this.#take(this.#lines.end());
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    const isQuiet = this.#asked.size === 0 && (this.#mayEnd || (end.kind === 'exit' && end.code === 0));
    if (this.#failure === null && isQuiet) return null;
    const failure = this.#failure ?? unanswered(end);
    this.#asker?.onFailure(failure);
    return failure.verdict === 'timed_out' ? null : failure;
  }
}
