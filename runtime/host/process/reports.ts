// What the host's main thread tells the ledger thread, over the pipe.
import type { Socket } from 'node:net';
import { pack } from '../../packing.ts';
import { encodeMessage } from '../wire/message.ts';
import type { Body } from '../wire/outcome.ts';
import { encodeOutcome, type OutcomeHead, outcomesMessage, partsOf, returnedMessage } from '../wire/outcome-message.ts';

/** Longer outcomes are told in parts: those of many small tasks are shorter, and are copied once. */
const wholeBytesMax = 512 * 2 ** 10;
const partBytes = 64 * 2 ** 10;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export class Reports {
  readonly #pipe: Socket;
  readonly #key: Buffer;
  /** Outcomes that are told in parts, one after the other. */
  readonly #long: Iterator<Buffer>[] = [];
  /** What is to follow when all is out. */
  #then: (() => void) | null = null;

  constructor(pipe: Socket, key: Buffer) {
    this.#pipe = pipe;
    this.#key = key;
  }

  ready(): void {
    this.#write(encodeMessage('ready', new Uint8Array(0)));
  }

  pong(): void {
    this.#write(encodeMessage('pong', new Uint8Array(0)));
  }

  /** Outcomes that are written already. Long ones are told in parts, between which shorter ones of other jobs find their way. */
  written(frameId: number, outcomes: Uint8Array): void {
    if (outcomes.length <= wholeBytesMax) {
      this.#write(outcomesMessage(frameId, outcomes));
      return;
    }
    this.#long.push(partsOf(frameId, outcomes, partBytes));
    if (this.#long.length === 1) this.#tellPart();
  }

  outcome(frameId: number, head: OutcomeHead, body: Body): void {
    this.written(frameId, encodeOutcome(head, body));
  }

  /** Outcomes that came together, in one message. */
  outcomes(frameId: number, ended: readonly (readonly [OutcomeHead, Body])[]): void {
    this.written(frameId, Buffer.concat(ended.map(([head, body]) => encodeOutcome(head, body))));
  }

  /** Tasks from `first` on, up to `end`, were never started; `alone`: they had begun, and are to run alone. */
  returned(frameId: number, first: number, end: number, alone = false): void {
    if (first < end) this.#write(returnedMessage(frameId, first, end, alone));
  }

  replaced(reason: string): void {
    this.#write(encodeMessage('replaced', Buffer.from(reason)));
  }

  log(level: LogLevel, message: string, fields: Record<string, unknown> = {}): void {
    this.#write(encodeMessage('log', pack([level, message, fields])));
  }

  /** Says the last word; `then` runs when it is out. */
  end(then: () => void): void {
    if (this.#long.length === 0) this.#pipe.end(then);
    else this.#then = then;
  }

  #write(message: Buffer, then?: () => void): void {
    this.#pipe.cork();
    this.#pipe.write(this.#key);
    this.#pipe.write(message, then);
    this.#pipe.uncork();
  }

  #tellPart(): void {
    const part = this.#long[0]!.next();
    if (!part.done) {
      this.#write(part.value, () => this.#tellPart());
      return;
    }
    this.#long.shift();
    if (this.#long.length > 0) this.#tellPart();
    else if (this.#then !== null) this.#pipe.end(this.#then);
  }
}
