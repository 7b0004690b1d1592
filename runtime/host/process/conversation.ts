// A frame and a persistent process: tasks are asked ahead of their answers where that is allowed, and each gets its outcome.
import { steadyUs } from '../../clock.ts';
import { answerOfDuctile } from '../wire/ductile.ts';
import type { Body } from '../wire/outcome.ts';
import type { OutcomeHead } from '../wire/outcome-message.ts';
import { type Settled, settleAnswer, settleFailure } from '../wire/response.ts';
import type { Failure } from './answer-line.ts';
import type { Flight } from './frame-run.ts';
import type { Answer, Asker, PersistentProcess, Question } from './persistent.ts';
import type { Programs } from './program.ts';
import type { Reports } from './reports.ts';

/** So many questions are under way at once; the next ones leave when half of them are answered. */
const windowTasks = 32;

export class Conversation implements Asker {
  readonly deadlineMs: number;
  readonly secrets: Uint8Array | null;
  readonly #flight: Flight;
  readonly #reports: Reports;
  readonly #programs: Programs;
  readonly #waiting = new Set<number>();
  #process: PersistentProcess | null = null;
  #room = 0;
  #window: number;
  /** Since when the process is busy with the task that is next to be answered. */
  #sinceUs = 0;
  #finish: () => void = () => {};

  constructor(flight: Flight, reports: Reports, programs: Programs) {
    const { frame, plugin } = flight;
    this.deadlineMs = frame.head.deadlineMs;
    this.secrets = frame.secrets;
    this.#flight = flight;
    this.#reports = reports;
    this.#programs = programs;
    // A task sees the state that those before it left: then it cannot be asked before they have answered.
    this.#window = plugin.persistent!.pipelined && flight.state.isEmpty ? windowTasks : 1;
  }

  /** Resolves when the frame is over, the process has no room for more, or it is gone. */
  async hold(process: PersistentProcess, room: number): Promise<void> {
    this.#process = process;
    this.#room = room;
    process.attach(this);
    await new Promise<void>(finish => {
      this.#finish = finish;
      this.#ask();
    });
    process.attach(null);
  }

  /** There is no process for the next task; those behind it may find one. */
  refuse(reason: string): void {
    const task = this.#flight.next();
    this.#sinceUs = steadyUs();
    this.#report([[task, settleFailure(reason, false)]]);
  }

  onAnswers(answers: readonly Answer[]): void {
    const { state, plugin } = this.#flight;
    const { mask } = this.#process!;
    const ended = answers.map(({ task, answer, texted }) => {
      this.#waiting.delete(task);
      const said = plugin.dialect === 'ductile' ? answerOfDuctile(answer) : answer;
      const settled = state.settle(settleAnswer(said, true, { stderr: this.#process!.takeStderr(), texted }, mask));
      if (settled.stateUpdates !== null) this.#window = 1;
      return [task, settled] as const;
    });
    this.#report(ended);
    this.#flight.moved();
    if (this.#waiting.size <= this.#window >> 1) this.#ask();
  }

  /** The first that waits was being answered and bears it; those behind it are taken for not begun. */
  onFailure({ reason, verdict, permanent }: Failure): void {
    const { mask } = this.#process!;
    void this.#fail(settleFailure(reason, permanent, { stderr: this.#process!.restOfStderr() }, verdict, mask));
  }

  async #fail(settled: Settled): Promise<void> {
    // Answered in order: the first task that waits was the one that ran.
    const [first, ...behind] = this.#waiting;
    if (first === undefined) return;
    for (const task of behind) this.#reports.returned(this.#flight.frame.head.frameId, task, task + 1);
    this.#flight.takeBack();
    await this.#programs.gone();
    this.#report([[first, settled]]);
    this.#finish();
  }

  #ask(): void {
    const questions: Question[] = [];
    const process = this.#process!;
    while (this.#flight.hasNext && this.#waiting.size < this.#window && this.#room > 0 && !process.isOver) {
      const task = this.#flight.next();
      const asked = this.#flight.request(task);
      if ('settled' in asked) {
        if (this.#waiting.size === 0) this.#sinceUs = steadyUs();
        this.#report([[task, asked.settled]]);
        continue;
      }
      if (this.#waiting.size === 0) this.#sinceUs = steadyUs();
      this.#waiting.add(task);
      this.#room--;
      questions.push({ task, request: asked.request });
    }
    if (questions.length > 0) process.ask(questions);
    else if (this.#waiting.size === 0) this.#finish();
  }

  /** What came together has shared the time since the last. */
  #report(ended: readonly (readonly [task: number, settled: Settled])[]): void {
    const shareUs = (steadyUs() - this.#sinceUs) / ended.length;
    const written = ended.map(([task, { verdict, permanent, body }]): [OutcomeHead, Body] => {
      const startedUs = this.#sinceUs;
      this.#sinceUs += shareUs;
      return [{ task, verdict, permanent, startedUs, runUs: Math.round(shareUs) }, body];
    });
    this.#reports.outcomes(this.#flight.frame.head.frameId, written);
  }
}
