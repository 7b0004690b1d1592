// A connection of node:http. Its requests are handled one after the other. If possible, input that the parser rejects is answered with a problem
// document.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type HttpProblem, problem, problemHeaders, problemStatus, writeProblem } from '../problem.ts';
import { headText, problemType, type ResponseHead } from '../response-head.ts';
import { NodeRequest } from './node-request.ts';
import { type ConnectionContext, NodeResponse } from './node-response.ts';
import { idleMsMax, type RequestHandler } from './transport.ts';

/**
 * The maximum number of pipelined requests that wait on a connection. Further requests are dropped, and the connection is closed after the
 * waiting requests have been answered.
 */
export const pipelinedMax = 128;
/** While a body arrives, at least this many bytes must arrive every `idleMsMax`: 16 KiB a second, as in uWebSockets.js. */
const arrivingBytesMin = 16 * 1024 * (idleMsMax / 1000);
/** The maximum time that the connection stays open after a refusal, to let the caller read the refusal (`endWith`). */
const lingerMsMax = 1_000;

const tooSlow = `at least ${arrivingBytesMin} bytes of a body must arrive every ${idleMsMax / 1000} s`;
/** Ignores the errors of a response. If the connection is lost, the response also emits `close`, which is handled. */
const ignore = (): void => {};

export class NodeConnection implements ConnectionContext {
  readonly #socket: Socket;
  /** Returns the handler of requests; null while the address is bound but not yet open. */
  readonly #handler: () => RequestHandler | null;
  readonly #arrivals: Set<NodeConnection>;
  readonly #waiting: (() => void)[] = [];
  #response: NodeResponse | null = null;
  /** The latest request whose body was asked for, or whose answer ended before its body had arrived. */
  #arriving: IncomingMessage | null = null;
  /** Whether further requests are ignored. */
  #isEnding = false;
  #isTakingTurns = false;
  #checkedAtMs = 0;
  #checkedBytes = 0;

  constructor(socket: Socket, handler: () => RequestHandler | null, arrivals: Set<NodeConnection>) {
    this.#socket = socket;
    this.#handler = handler;
    this.#arrivals = arrivals;
    socket.on('close', () => {
      this.#isEnding = true;
      this.#waiting.length = 0;
      arrivals.delete(this);
    });
  }

  /** Handles a request whose head is complete. The request waits until the address is open and earlier requests have been answered. */
  take(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    if (this.#isEnding) return;
    if (this.#waiting.length >= pipelinedMax) {
      this.#endAfterWaiting();
      return;
    }
    if (this.#response === null && this.#waiting.length === 0 && this.#handler() !== null)
      this.#begin(request, response, awaitsContinue);
    else this.#wait(() => this.#begin(request, response, awaitsContinue));
  }

  /**
   * Refuses a CONNECT, and input that the parser rejects or that arrives too slowly. The refusal is sent after the answers to earlier requests that
   * have arrived completely.
   */
  refuse(refusal: HttpProblem): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const isWhole = this.#arriving === null || this.#arriving.complete;
    // A request that was answered before its body had arrived gets no second answer.
    if (this.#response === null && !isWhole) this.#socket.destroy();
    else if (this.#response === null || !isWhole) this.#hangUp(refusal);
    else this.#wait(() => this.#hangUp(refusal));
  }

  /** Called when the address is opened. Handles the first waiting request; each further one follows the answer to the one before. */
  opened(): void {
    this.#next();
  }

  endBehind(): void {
    this.#isEnding = true;
    this.#waiting.length = 0;
  }

  arriving(request: IncomingMessage): void {
    this.#arriving = request;
    this.#checkedAtMs = performance.now();
    this.#checkedBytes = this.#socket.bytesRead;
    this.#arrivals.add(this);
  }

  /** Refuses a body that arrives too slowly. */
  checkArrival(nowMs: number): void {
    const request = this.#arriving;
    if (request === null || request.complete) this.#arrivals.delete(this);
    else if (nowMs - this.#checkedAtMs >= idleMsMax) {
      if (this.#socket.bytesRead - this.#checkedBytes >= arrivingBytesMin) this.arriving(request);
      else this.refuse(problem('request_timeout', tooSlow));
    }
  }

  #begin(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const current = new NodeResponse(request, response, awaitsContinue, this);
    this.#response = current;
    response.on('error', ignore);
    response.on('close', () => {
      current.abort();
      if (this.#response === current) this.#next();
    });
    this.#handler()!.begin(current, new NodeRequest(request));
  }

  #wait(turn: () => void): void {
    this.#waiting.push(turn);
    this.#socket.pause();
    if (this.#isTakingTurns) return;
    this.#isTakingTurns = true;
    // Node resumes the socket by itself. This listener pauses the socket again while requests wait.
    this.#socket.on('resume', () => {
      if (this.#waiting.length > 0) this.#socket.pause();
    });
  }

  #next(): void {
    this.#response = null;
    const turn = this.#waiting.shift();
    if (turn === undefined) return;
    if (this.#waiting.length === 0) this.#socket.resume();
    turn();
  }

  #endAfterWaiting(): void {
    this.#isEnding = true;
    this.#waiting.push(() => this.#socket.destroySoon());
  }

  /** Writes the refusal as the last answer if that is still possible, and closes the connection. */
  #hangUp(refusal: HttpProblem): void {
    const socket = this.#socket;
    const current = this.#response;
    current?.abort();
    if (current?.isBegun || !socket.writable || (current === null && socket.bytesRead === 0)) {
      socket.destroy();
      return;
    }
    const requestId = this.#handler()?.nextRequestId() ?? '0';
    const body = writeProblem(refusal, requestId);
    const [status, headers] = [problemStatus(refusal), problemHeaders(refusal)];
    this.endWith({ status, requestId, contentType: problemType, headers, isOpen: false, isClosing: true }, body);
  }

  endWith(head: ResponseHead, body: string, isBare = false): void {
    const socket = this.#socket;
    this.endBehind();
    const length = Buffer.byteLength(body);
    socket.end(
      `HTTP/1.1 ${headText(head)}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n${isBare ? '' : body}`,
    );
    // If the socket were destroyed at once while input is unread, the connection would be reset and the answer could be lost.
    const linger = setTimeout(() => socket.destroy(), lingerMsMax);
    linger.unref();
    socket.on('close', () => clearTimeout(linger));
  }
}
