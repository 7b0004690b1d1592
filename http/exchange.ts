// A request and its answer: the one wrapper around every handler, of every listener. Nobody else touches a response.
import type { Config } from '../config/config.ts';
import { admit, readBody } from './admission.ts';
import { type Authenticate, type Caller, may } from './auth.ts';
import { Body, type BodyRoom } from './body.ts';
import type { Engine } from './engine.ts';
import { givenRequestId, type Head, headerOf, type RequestSource, readHead } from './head.ts';
import type { ServerLog } from './log.ts';
import { type Problem, problem, problemHeaders, problemStatus, writeProblem } from './problem.ts';
import { readQuery } from './query.ts';
import { jsonType, noHeaders, problemType, responseHead } from './response-head.ts';
import type { Answer, Call, Headers, Route, Sink } from './route.ts';
import type { RouteTable } from './route-table.ts';
import { vaultOpOf } from './vault-admission.ts';

/** What the server's response object offers. After an abort or the end every call of it throws. */
export interface ResponseTarget {
  onAborted(aborted: () => void): unknown;
  /** The chunk is a view of memory that is used again. */
  onData(arrived: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  onWritable(writable: () => boolean): unknown;
  cork(write: () => void): unknown;
  writeStatus(line: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /** False: it waits in memory. */
  write(text: string): boolean;
  end(body?: string | Uint8Array, isClosing?: boolean): unknown;
  endWithoutBody(): unknown;
  close(): unknown;
}

/** What all requests of a listener share. */
export type Shared = {
  readonly engine: Engine;
  readonly log: ServerLog;
  readonly authenticate: Authenticate;
  readonly room: BodyRoom;
  /** The routes of a configuration. */
  table(config: Config): RouteTable;
  nowMs(): number;
  nextRequestId(): string;
};

/** What the server gathers of a packet's answers before it sends. */
const corkedBytesMax = 16_384;

type Reply = Answer | Promise<Answer> | undefined;

/** A request and its answer. Each entry from outside catches what is thrown: an exception here would end the process. */
export class Exchange implements Call, Sink {
  readonly #shared: Shared;
  readonly #res: ResponseTarget;
  #head!: Head;
  #table!: RouteTable;
  #route: Route | null = null;
  /** The pattern that the path fits; null: none. */
  #pattern: string | null = null;
  /** Null: the path does not belong to the vault. */
  #vaultOp: string | null = null;
  #arriving: Body | null = null;
  #state: 'open' | 'streaming' | 'over' = 'open';
  /** Inside a callback of the server all writes travel together; elsewhere that must be asked for. */
  #corked = true;
  #forget: (() => void) | null = null;
  #resume: (() => void) | null = null;
  #blocked = false;
  #status: number | null = null;
  readonly #startedMs: number;

  readonly engine: Engine;
  config!: Config;
  params: { readonly [name: string]: string } = {};
  query: unknown = undefined;
  body: unknown = undefined;
  caller: Caller | null = null;
  found: unknown = undefined;
  requestId = '';

  constructor(shared: Shared, res: ResponseTarget) {
    this.#shared = shared;
    this.#res = res;
    this.engine = shared.engine;
    this.#startedMs = shared.log.debug ? performance.now() : 0;
  }

  begin(req: RequestSource): void {
    try {
      this.#res.onAborted(() => this.#abort());
      this.#head = readHead(req);
      this.requestId = givenRequestId(this.#head) ?? this.#shared.nextRequestId();
      this.config = this.engine.config();
      this.#table = this.#shared.table(this.config);
      if (this.#head.framing === 'sound') this.#reply(this.#admit());
      else this.#refuseFraming();
    } catch (error) {
      this.#fail(error);
    }
    this.#corked = false;
  }

  header(name: string): string | undefined {
    return headerOf(this.#head, name);
  }

  onGone(forget: () => void): void {
    this.#forget = forget;
  }

  nowMs(): number {
    return this.#shared.nowMs();
  }

  isAdmitted(): boolean {
    const { access } = this.#route!;
    if (access.kind !== 'scopes') return true;
    const caller = this.#shared.authenticate(this.engine.config(), this.#head.authorization);
    return caller !== undefined && may(caller, access.anyOf);
  }

  // The way of a request: admission, what the path names, body, query, handler. Undefined: the answer comes with the body.

  #admit(): Reply {
    const head = this.#head;
    const match = this.#table.router.match(head.path);
    if (typeof match === 'object') this.#pattern = match.place.path;
    this.#vaultOp = vaultOpOf(match, head.path, this.#table.hasVault);
    const admission = admit(
      {
        match,
        method: head.method,
        authorization: head.authorization,
        config: this.config,
        isStopping: this.engine.stopping(),
        vault: this.#vaultOp === null ? undefined : this.engine.vault,
      },
      this.#shared.authenticate,
    );
    this.caller = admission.caller;
    if (admission.kind === 'refused') return admission.problem;
    const { route } = admission;
    this.#route = route;
    this.params = admission.params;
    const found = route.find(this);
    if (isProblem(found)) return found;
    if (admission.wrongMethod) return admission.wrongMethod;
    this.found = found;
    if (route.raw) return this.#receive(route, route.raw.bytesMax);
    if (route.body === null || head.contentLength === 0) return this.#handle(route);
    return this.#receive(route, this.config.api.bodyBytesMax);
  }

  #receive(route: Route, bytesMax: number): Reply {
    if ((this.#head.contentLength ?? 0) > bytesMax) return tooLarge(bytesMax);
    this.#res.onData((chunk, isLast) => {
      if (this.#state !== 'open') return;
      this.#corked = true;
      try {
        this.#reply(this.#arrived(route, Buffer.from(chunk), isLast, bytesMax));
      } catch (error) {
        this.#fail(error);
      }
      this.#corked = false;
    });
    return undefined;
  }

  /** A body in one piece is read out of it before this returns; pieces are collected. */
  #arrived(route: Route, bytes: Buffer, isLast: boolean, bytesMax: number): Reply {
    if (isLast && this.#arriving === null) {
      return bytes.length <= bytesMax ? this.#readBody(route, bytes) : tooLarge(bytesMax);
    }
    this.#arriving ??= new Body(bytesMax, this.#shared.room);
    const taken = this.#arriving.append(bytes);
    if (taken === 'too_large') return tooLarge(bytesMax);
    if (taken === 'no_room') return problem('unavailable', 'too many large bodies are arriving');
    if (!isLast) return undefined;
    const reply = this.#readBody(route, this.#arriving.bytes());
    this.#release();
    return reply;
  }

  #release(): void {
    this.#arriving?.release();
    this.#arriving = null;
  }

  #readBody(route: Route, bytes: Uint8Array): Reply {
    if (route.raw) {
      this.body = bytes;
      return route.handle(this as Call<unknown, object>);
    }
    const reading = readBody(this.#head, bytes, this.#table.bodyChecks.get(route)!);
    if (reading.kind === 'problem') return reading;
    this.body = reading.value;
    return this.#handle(route);
  }

  #handle(route: Route): Reply {
    const query = readQuery(this.#head.query, route.query);
    if (query.kind === 'problem') return query;
    this.query = query.values;
    return route.handle(this as Call<unknown, object>);
  }

  #reply(reply: Reply): void {
    if (reply === undefined) return;
    const audited = this.#vaultOp !== null && isProblem(reply) ? this.#audited(this.#vaultOp, reply) : reply;
    if (!(audited instanceof Promise)) this.#answer(audited);
    else {
      audited.then(
        answer => this.#answer(answer),
        error => this.#fail(error),
      );
    }
  }

  /** A call of the vault that does not get there: its refusal goes out when it is in the audit trail. */
  #audited(op: string, refusal: Problem): Answer | Promise<Answer> {
    const { vault } = this.engine;
    // Chunks of a body that is too large still come: the call is one.
    this.#vaultOp = null;
    if (problemStatus(refusal) === 503) return refusal;
    if (refusal.code !== 'unauthorized') return vault.refused(op, refusal.code).then(() => refusal);
    vault.stranger(op);
    return refusal;
  }

  // What follows this request in the same packet may be part of its body for whoever stands in front of us, and the server would
  // handle it before it closes: it closes at once only after an answer that is too large to wait for the end of the packet.
  #refuseFraming(): void {
    const detail = 'Content-Length and Transfer-Encoding must be unambiguous: one length, or exactly "chunked"';
    const refusal = problem('malformed_request', detail);
    this.#writeHead(problemStatus(refusal), problemType, noHeaders);
    this.#res.end(writeProblem(refusal, this.requestId) + ' '.repeat(corkedBytesMax), true);
    this.#finish(problemStatus(refusal));
  }

  // Answering. Nothing below touches the response once the exchange is over.

  #answer(answer: Answer): void {
    if (this.#state !== 'open') return;
    try {
      if (this.#corked) this.#write(answer);
      else this.#res.cork(() => this.#write(answer));
    } catch (error) {
      this.#cut(error);
    }
  }

  #write(answer: Answer): void {
    switch (answer.kind) {
      case 'json':
        this.#writeWhole(answer.status, jsonType, answer.headers ?? noHeaders, answer.body);
        break;
      case 'unchanged':
        this.#writeHead(304, null, answer.headers);
        this.#res.endWithoutBody(); // an argument, undefined too, would be told as a length
        this.#finish(304);
        break;
      case 'problem': {
        this.#route?.refused?.(answer);
        const body = writeProblem(answer, this.requestId);
        this.#writeWhole(problemStatus(answer), problemType, problemHeaders(answer), body);
        break;
      }
      case 'stream':
        this.#stream(answer);
    }
  }

  #writeWhole(status: number, contentType: string, headers: Headers, body: string | Uint8Array): void {
    this.#writeHead(status, contentType, headers);
    const isClosing = this.engine.stopping();
    if (this.#head.method === 'head') {
      // Told a length, the server would wait for that many bytes.
      this.#res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
      this.#res.endWithoutBody();
    } else this.#res.end(body, isClosing);
    this.#finish(status);
  }

  #writeHead(status: number, contentType: string | null, headers: Headers): void {
    const isOpen = this.#route?.access.kind === 'open';
    this.#res.writeStatus(responseHead({ status, requestId: this.requestId, contentType, headers, isOpen }));
    this.#status = status;
  }

  #stream(answer: Answer & { readonly kind: 'stream' }): void {
    this.#writeHead(answer.status, answer.contentType, answer.headers ?? noHeaders);
    if (this.#head.method === 'head') {
      this.#res.endWithoutBody();
      this.#finish(answer.status);
      return;
    }
    this.#state = 'streaming';
    this.#res.onWritable(() => {
      this.#blocked = false;
      this.#takeUp();
      // What waits is sent on by a write, or by the end of a cork.
      if (this.#state === 'streaming') this.#res.cork(() => {});
      return true;
    });
    answer.open(this);
  }

  // The streamed part of an answer.

  write(text: string): boolean {
    if (this.#state !== 'streaming') return false;
    this.#res.cork(() => {
      this.#blocked = !this.#res.write(text);
    });
    return !this.#blocked;
  }

  onReady(resume: () => void): void {
    this.#resume = resume;
    if (!this.#blocked) setImmediate(() => this.#takeUp());
  }

  end(): void {
    if (this.#state !== 'streaming') return;
    this.#res.cork(() => this.#res.end());
    this.#finish(this.#status);
  }

  #takeUp(): void {
    const resume = this.#resume;
    if (resume === null || this.#state !== 'streaming') return;
    this.#resume = null;
    try {
      resume();
    } catch (error) {
      this.#cut(error);
    }
  }

  // Ends.

  #finish(status: number | null): void {
    this.#state = 'over';
    this.#forget = null;
    this.#release();
    const { log } = this.#shared;
    if (!log.debug) return;
    log.request({
      method: this.#head.method.toUpperCase(),
      route: this.#pattern,
      status,
      durationUs: Math.round((performance.now() - this.#startedMs) * 1000),
      token: this.caller?.name ?? null,
      requestId: this.requestId,
    });
  }

  #abort(): void {
    if (this.#state === 'over') return;
    const forget = this.#forget;
    try {
      this.#finish(null);
      forget?.();
    } catch (error) {
      this.#shared.log.fault(error, this.requestId);
    }
  }

  #fail(error: unknown): void {
    if (this.#state !== 'open') {
      this.#cut(error);
      return;
    }
    this.#shared.log.fault(error, this.requestId);
    this.#answer(problem('internal_error', 'something went wrong here; the request id leads to it in the log'));
  }

  /** Half an answer cannot be taken back: the connection ends, so that nobody takes it for a whole one. */
  #cut(error: unknown): void {
    this.#shared.log.fault(error, this.requestId);
    if (this.#state !== 'over') this.#res.close();
  }
}

function tooLarge(bytesMax: number): Problem {
  return problem('body_too_large', `the body is larger than ${bytesMax} bytes`);
}

function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'problem';
}
