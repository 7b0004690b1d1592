// What is written to a host, message by message. Of a long one the next piece is read when the pipe has taken those before it.
import type { Socket } from 'node:net';
import type { Message } from '../wire/message.ts';

type Outgoing = { readonly message: Message; readonly onUnread: () => void; isUnread: boolean };

/** What a write fails with when the other end is closed. */
const closedErrors = ['EPIPE', 'ECONNRESET'];

export class Outbox {
  readonly #pipe: Socket;
  /** The first is under way. */
  readonly #waiting: Outgoing[] = [];
  /** Of a long message under way. */
  #pieces: Iterator<Uint8Array> | null = null;
  #isBroken = false;
  /** Hears what kept the rest of a message from being read: the other end has half of it, and nothing more is written. */
  onFault: (error: unknown) => void = () => {};

  constructor(pipe: Socket) {
    this.#pipe = pipe;
    pipe.on('drain', () => this.#goOn());
  }

  /** Written at once, unless a long message is under way. `onUnread`: the other end was closed, and never had all of it. */
  send(message: Message, onUnread: () => void): void {
    if (this.#waiting.push({ message, onUnread, isUnread: false }) === 1) this.#goOn();
  }

  /** The other end is gone: what waits never gets there. */
  close(): void {
    this.#isBroken = true;
    for (const sending of this.#waiting.splice(0)) tellUnread(sending);
  }

  #goOn(): void {
    try {
      while (!this.#isBroken && this.#waiting.length > 0 && this.#isWritten(this.#waiting[0]!)) this.#waiting.shift();
    } catch (error) {
      this.#isBroken = true;
      this.onFault(error);
    }
  }

  /** False: of the first message there is more, for which the pipe has no room now. */
  #isWritten(sending: Outgoing): boolean {
    const { head, more } = sending.message;
    const told = (error?: Error | null): void => {
      if (error && closedErrors.includes((error as NodeJS.ErrnoException).code!)) tellUnread(sending);
    };
    if (this.#pieces === null) {
      this.#pipe.write(head, told);
      if (more === undefined) return true;
      this.#pieces = more()[Symbol.iterator]();
    }
    while (!this.#pipe.writableNeedDrain) {
      const next = this.#pieces.next();
      if (next.done) {
        this.#pieces = null;
        return true;
      }
      this.#pipe.write(next.value, told);
    }
    return false;
  }
}

function tellUnread(sending: Outgoing): void {
  if (sending.isUnread) return;
  sending.isUnread = true;
  sending.onUnread();
}
