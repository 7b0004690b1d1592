// A connection of node:http: its requests take turns, and what the parser refuses is answered in words.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Problem, problem, problemHeaders, problemStatus, writeProblem } from '../problem.ts';
import { headText, problemType } from '../response-head.ts';
import { faultOf, NodeRequest } from './node-request.ts';
import { NodeResponse, type Surroundings } from './node-response.ts';
import { type Face, idleMsMax } from './transport.ts';

/** Requests of one connection that wait behind another; what comes behind them is dropped, and the connection closes after them. */
export const pipelinedMax = 128;
/** What must arrive of a body in `idleMsMax`, as uWebSockets.js has it: 16 KiB a second. */
export const arrivingBytesMin = 16 * 1024 * (idleMsMax / 1000);
/** After a refusal of the parser: how long the caller has to read it. */
const lingerMsMax = 1_000;

const tooSlow = `a body must bring at least ${arrivingBytesMin} bytes in ${idleMsMax / 1000} s`;
/** A response whose connection is gone tells so by its end, too. */
const ignore = (): void => {};

export class NodeConnection implements Surroundings {
  readonly #socket: Socket;
  /** Null: the address is bound, and not open yet. */
  readonly #face: () => Face | null;
  readonly #arrivals: Set<NodeConnection>;
  readonly #waiting: (() => void)[] = [];
  #response: NodeResponse | null = null;
  /** The last request whose body came, or comes, by itself. */
  #arriving: IncomingMessage | null = null;
  /** Nothing that comes from now on is handled. */
  #isEnding = false;
  #isTakingTurns = false;
  #checkedAtMs = 0;
  #checkedBytes = 0;

  constructor(socket: Socket, face: () => Face | null, arrivals: Set<NodeConnection>) {
    this.#socket = socket;
    this.#face = face;
    this.#arrivals = arrivals;
    socket.on('close', () => {
      this.#isEnding = true;
      this.#waiting.length = 0;
      arrivals.delete(this);
    });
  }

  /** A request whose head is whole. */
  take(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    if (this.#isEnding) return;
    if (this.#waiting.length >= pipelinedMax) {
      this.#endAfterWaiting();
      return;
    }
    if (this.#response === null && this.#waiting.length === 0 && this.#face() !== null)
      this.#begin(request, response, awaitsContinue);
    else this.#wait(() => this.#begin(request, response, awaitsContinue));
  }

  /** What the parser does not take, or what took too long: answered when what came before it is. */
  refuse(refusal: Problem): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const isWhole = this.#arriving === null || this.#arriving.complete;
    // A request that was answered before it was whole gets no second answer.
    if (this.#response === null && !isWhole) this.#socket.destroy();
    else if (this.#response === null || !isWhole) this.#hangUp(refusal);
    else this.#wait(() => this.#hangUp(refusal));
  }

  /** Begins with what has waited; called once, when the address is open. */
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

  /** Ends a body that is too slow. */
  checkArrival(nowMs: number): void {
    const request = this.#arriving;
    if (request === null || request.complete) this.#arrivals.delete(this);
    else if (nowMs - this.#checkedAtMs >= idleMsMax) {
      if (this.#socket.bytesRead - this.#checkedBytes >= arrivingBytesMin) this.arriving(request);
      else this.refuse(problem('request_timeout', tooSlow));
    }
  }

  #begin(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const fault = faultOf(request);
    const face = this.#face()!;
    this.#response = new NodeResponse(request, response, awaitsContinue, this);
    if (fault !== null) {
      this.#isEnding = true;
      this.#hangUp(fault);
      return;
    }
    const current = this.#response;
    response.on('error', ignore);
    response.on('close', () => {
      current.abort();
      if (this.#response === current) this.#next();
    });
    face.begin(current, new NodeRequest(request));
  }

  #wait(turn: () => void): void {
    this.#waiting.push(turn);
    this.#socket.pause();
    if (this.#isTakingTurns) return;
    this.#isTakingTurns = true;
    // The end of each response reads on.
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

  /** Answers in place of a request that is not there, or not whole. */
  #hangUp(refusal: Problem): void {
    const socket = this.#socket;
    const current = this.#response;
    current?.abort();
    if (current?.isBegun || !socket.writable || (current === null && socket.bytesRead === 0)) {
      socket.destroy();
      return;
    }
    const requestId = this.#face()?.nextRequestId() ?? '0';
    const body = writeProblem(refusal, requestId);
    const head = headText({
      status: problemStatus(refusal),
      requestId,
      contentType: problemType,
      headers: problemHeaders(refusal),
      isOpen: false,
      isClosing: true,
    });
    socket.end(`HTTP/1.1 ${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
    // Destroyed at once, it would take the answer back where something unread is left.
    const linger = setTimeout(() => socket.destroy(), lingerMsMax);
    linger.unref();
    socket.on('close', () => clearTimeout(linger));
  }
}
