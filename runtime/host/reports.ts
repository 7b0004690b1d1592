// What the host's main thread tells the ledger thread, over the pipe.
import type { Socket } from 'node:net';
import { pack } from '../packing.ts';
import type { Body } from './outcome.ts';
import { encodeOutcome, type OutcomeHead, outcomesHead, outcomesMessage, returnedMessage } from './settlement.ts';
import { encodeMessage } from './wire.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export class Reports {
  readonly #pipe: Socket;

  constructor(pipe: Socket) {
    this.#pipe = pipe;
  }

  ready(): void {
    this.#pipe.write(encodeMessage('ready', new Uint8Array(0)));
  }

  pong(): void {
    this.#pipe.write(encodeMessage('pong', new Uint8Array(0)));
  }

  /** Outcomes that a thread wrote. */
  written(frameId: number, outcomes: Uint8Array): void {
    this.#pipe.write(outcomesMessage(frameId, outcomes));
  }

  /** An outcome that a thread wrote into memory of its own: it may be large, and is not copied. */
  late(frameId: number, outcome: Uint8Array): void {
    this.#pipe.cork();
    this.#pipe.write(outcomesHead(frameId, outcome.length));
    this.#pipe.write(outcome);
    this.#pipe.uncork();
  }

  outcome(frameId: number, head: OutcomeHead, body: Body): void {
    this.written(frameId, encodeOutcome(head, body));
  }

  /** Outcomes that came together, in one message. */
  outcomes(frameId: number, ended: readonly (readonly [OutcomeHead, Body])[]): void {
    this.written(frameId, Buffer.concat(ended.map(([head, body]) => encodeOutcome(head, body))));
  }

  /** Tasks from `first` on, up to `end`, were never started. */
  returned(frameId: number, first: number, end: number): void {
    if (first < end) this.#pipe.write(returnedMessage(frameId, first, end));
  }

  replaced(reason: string): void {
    this.#pipe.write(encodeMessage('replaced', Buffer.from(reason)));
  }

  log(level: LogLevel, message: string, fields: Record<string, unknown> = {}): void {
    this.#pipe.write(encodeMessage('log', pack([level, message, fields])));
  }

  /** Says the last word; `then` runs when it is out. */
  end(then: () => void): void {
    this.#pipe.end(then);
  }
}
