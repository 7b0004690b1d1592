// Writes messages to a host in order. Each piece of a long message is read only when the pipe has room for it.
import type { Socket } from 'node:net';
import type { Message } from '../wire/message.ts';

type Outgoing = { readonly message: Message; readonly onUnread: () => void; isUnread: boolean };

/** The error codes of a write to a pipe whose other end is closed. */
const closedErrors = ['EPIPE', 'ECONNRESET'];

export class Outbox {
  readonly #pipe: Socket;
  /** The messages that are not completely written. The first of these is being written. */
  readonly #waiting: Outgoing[] = [];
  /** The remaining pieces of the message that is being written. */
  #pieces: Iterator<Uint8Array> | null = null;
  #isBroken = false;
  /** Called if making a piece of a long message throws. The host may have received a part of the message, so the outbox writes no more. */
  onFault: (error: unknown) => void = () => {};

  constructor(pipe: Socket) {
    this.#pipe = pipe;
    pipe.on('drain', () => this.#goOn());
  }

  /**
   * Writes the message at once, unless a long message is still being written. `onUnread` is called if the pipe closes before it has taken
   * the whole message. Each message is written alone, because a failed write of several messages would not show which of them the pipe has
   * taken.
   */
  send(message: Message, onUnread: () => void): void {
    if (this.#waiting.push({ message, onUnread, isUnread: false }) === 1) this.#goOn();
  }

  /** Must be called when the other end has closed. No more bytes are sent, and `onUnread` is called for each waiting message. */
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

  /** Writes as much of the message as the pipe has room for. Returns whether the whole message has been written. */
  #isWritten(sending: Outgoing): boolean {
    const { head, more } = sending.message;
    const onWritten = (error?: Error | null): void => {
      if (error && closedErrors.includes((error as NodeJS.ErrnoException).code!)) tellUnread(sending);
    };
    if (this.#pieces === null) {
      this.#pipe.write(head, onWritten);
      if (more === undefined) return true;
      this.#pieces = more()[Symbol.iterator]();
    }
    while (!this.#pipe.writableNeedDrain) {
      const next = this.#pieces.next();
      if (next.done) {
        this.#pieces = null;
        return true;
      }
      this.#pipe.write(next.value, onWritten);
    }
    return false;
  }
}

function tellUnread(sending: Outgoing): void {
  if (sending.isUnread) return;
  sending.isUnread = true;
  sending.onUnread();
}
