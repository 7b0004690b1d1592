// An answer written by node:http, as a ResponseTarget.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { headList, type ResponseHead } from '../response-head.ts';
import { idleMsMax, type ResponseTarget } from './transport.ts';

/** The part of a connection that a response uses. */
export type ConnectionContext = {
  /** From this call on, the connection checks how fast the body of this request arrives. */
  arriving(request: IncomingMessage): void;
  /** Called when further requests on this connection must be ignored. */
  endBehind(): void;
  /** Writes the last answer, and closes the connection. `isBare`: writes only the head. */
  endWith(head: ResponseHead, body: string, isBare?: boolean): void;
};

export class NodeResponse implements ResponseTarget {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #around: ConnectionContext;
  /** Whether the caller waits for `100 Continue` before it sends its body. */
  #awaitsContinue: boolean;
  #aborted: (() => void) | null = null;
  #isOver = false;

  constructor(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean, around: ConnectionContext) {
    this.#request = request;
    this.#response = response;
    this.#awaitsContinue = awaitsContinue;
    this.#around = around;
  }

  /** Whether the head of the answer has been written. */
  get isBegun(): boolean {
    return this.#response.headersSent;
  }

  onAborted(aborted: () => void): void {
    this.#aborted = aborted;
  }

  /** Called when the response is finished, when its connection is closed, or when a refusal replaces it. */
  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#aborted?.();
  }

  onBody(length: number | null, arrived: (chunk: Uint8Array, isLast: boolean) => void): void {
    if (this.#awaitsContinue) this.#response.writeContinue();
    this.#awaitsContinue = false;
    this.#around.arriving(this.#request);
    let missing = length ?? Number.POSITIVE_INFINITY;
    this.#request.on('data', (chunk: Buffer) => {
      missing -= chunk.length;
      if (!this.#isOver) arrived(chunk, missing === 0);
    });
    this.#request.on('end', () => {
      if ((missing > 0 || length === 0) && !this.#isOver) arrived(Buffer.alloc(0), true);
    });
  }

  /** Has no effect, because NodeConnection handles the requests of a connection one after the other. */
  hold(): void {}

  respond(head: ResponseHead, body: string | Uint8Array): void {
    this.#begin(head, Buffer.byteLength(body));
    this.#end(body);
  }

  respondBare(head: ResponseHead, length: number | null): void {
    this.#begin(head, length);
    this.#end();
  }

  respondLast(head: ResponseHead, body: string): void {
    this.#isOver = true;
    this.#around.endWith({ ...head, isClosing: true }, body, this.#request.method === 'HEAD');
  }

  begin(head: ResponseHead): void {
    this.#begin(head, null);
  }

  write(text: string): boolean {
    const isThrough = this.#response.write(text);
    if (!isThrough) this.#watchReader();
    return isThrough;
  }

  onWritable(writable: () => void): void {
    this.#response.on('drain', () => {
      this.#request.socket.setTimeout(0);
      if (!this.#isOver) writable();
    });
  }

  end(): void {
    this.#end();
  }

  close(): void {
    this.#request.socket.destroy();
    this.abort();
  }

  #begin(head: ResponseHead, length: number | null): void {
    const list = headList(head);
    if (length !== null) list.push('Content-Length', String(length));
    // The connection is also closed if the caller still awaits `100 Continue`: it may or may not send its body, so the start of its next request
    // is unknown.
    if (head.isClosing || this.#awaitsContinue) list.push('Connection', 'close');
    if (this.#awaitsContinue) this.#around.endBehind();
    this.#response.writeHead(head.status, STATUS_CODES[head.status], list);
  }

  #end(body?: string | Uint8Array): void {
    this.#isOver = true;
    if (!this.#request.complete) this.#around.arriving(this.#request);
    this.#response.end(body);
    if (this.#response.writableLength > 0) this.#watchReader();
  }

  /** Lets the connection close if its reader takes no data for `idleMsMax`. */
  #watchReader(): void {
    this.#request.socket.setTimeout(idleMsMax);
  }
}
