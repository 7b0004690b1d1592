// Sends messages from the host's main thread to the ledger thread, over the pipe.
import type { Socket } from 'node:net';
import { pack } from '../../packing.ts';
import { encodeMessage } from '../wire/message.ts';
import { encodeOutcomes, outcomesMessage, returnedMessage, taskMessage } from '../wire/outcome-message.ts';
import type { HostLogLevel, Outcome, ReturnReason } from '../wire/plugin-host.ts';

export class HostSender {
  readonly #pipe: Socket;
  readonly #key: Buffer;
  #hasEnded = false;

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

  /** Sends outcomes that are already encoded. */
  written(frameId: number, outcomes: Uint8Array): void {
    this.#write(...outcomesMessage(frameId, outcomes));
  }

  outcomes(frameId: number, outcomes: readonly Outcome[]): void {
    this.written(frameId, encodeOutcomes(outcomes));
  }

  /** Gives back to the ledger the tasks from `first` up to, not including, `end`. */
  returned(frameId: number, first: number, end: number, reason: ReturnReason): void {
    if (first < end) this.#write(returnedMessage(frameId, first, end, reason));
  }

  /** Confirms a cancel: the task has ended or was returned, or it will be returned or stopped. */
  cancelling(frameId: number, task: number): void {
    this.#write(taskMessage('cancelling', frameId, task));
  }

  replaced(reason: string): void {
    this.#write(encodeMessage('replaced', Buffer.from(reason)));
  }

  log(level: HostLogLevel, message: string, fields: Record<string, unknown>): void {
    this.#write(encodeMessage('log', pack([level, message, fields])));
  }

  /** Ends the stream of messages; later messages are dropped. Calls `then` when everything has been written. */
  end(then: () => void): void {
    this.#hasEnded = true;
    this.#pipe.end(then);
  }

  #write(...message: readonly Uint8Array[]): void {
    // A write after the end would destroy the pipe, and with it the messages that it has not taken yet.
    if (this.#hasEnded) return;
    this.#pipe.cork();
    this.#pipe.write(this.#key);
    for (const part of message) this.#pipe.write(part);
    this.#pipe.uncork();
  }
}
