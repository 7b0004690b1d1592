// Handles one request, for every route, listener and HTTP server: admission, body, answer.

import type { Config } from '../config/config.ts';
import type { JobId } from '../runtime/ids.ts';
import { ThreadGone } from '../runtime/link.ts';
import { isStoreFault } from '../runtime/store/fault.ts';
import type { Engine } from '../service/engine.ts';
import type { AnswerSink } from '../service/reads/reads.ts';
import { admit, checkFraming, isReading, readBatchBody, readBody, tooLarge } from './admission.ts';
import { type Caller, may } from './auth.ts';
import { type BodyRoom, RequestBody } from './body.ts';
import { givenRequestId, headerListOf, headerOf, type RequestHead, type RequestSource, readHead } from './head.ts';
import type { ListenerContext } from './listener-context.ts';
import { controlLine, lineKind, requestLine } from './log.ts';
import { type HttpProblem, isProblem, problem, problemHeaders, problemStatus, writeProblem } from './problem.ts';
import { readQuery } from './query.ts';
import { jsonType, noHeaders, problemType, type ResponseHead } from './response-head.ts';
import type { Answer, BodyLimit, Headers, HttpCall, Route } from './route.ts';
import type { RouteTable } from './route-table.ts';
import type { Match } from './router.ts';
import type { ResponseTarget } from './transport/transport.ts';
import { auditMisframed, vaultOpOf } from './vault-admission.ts';

type Reply = Answer | Promise<Answer> | undefined;

/** One request and its answer. Methods that the HTTP server calls catch all exceptions: an uncaught one would end the service. */
export class Exchange implements HttpCall, AnswerSink {
  readonly #shared: ListenerContext;
  readonly #res: ResponseTarget;
  #head!: RequestHead;
  #table!: RouteTable;
  #route: Route | null = null;
  /** Whether `#route` is for the path of the request, but for another method. */
  #hasOtherMethod = false;
  /** The path of the route that matches, with parameters in braces; null if none matches. */
  #pattern: string | null = null;
  /** The operation under which the vault's audit trail records this call; null if the path does not belong to the vault. */
  #vaultOp: string | null = null;
  #arriving: RequestBody | null = null;
  #state: 'open' | 'streaming' | 'over' = 'open';
  /** Whether the answer is decided. Then the rest of the body is ignored. */
  #isDecided = false;
  /** Whether the body was refused because other bodies needed its memory (`#giveWay`). */
  #gaveWay = false;
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
  submitted: JobId | null = null;

  constructor(shared: ListenerContext, res: ResponseTarget) {
    this.#shared = shared;
    this.#res = res;
    this.engine = shared.engine;
    this.#startedMs = performance.now();
  }

  begin(req: RequestSource): void {
    try {
      this.#res.onAborted(() => this.#abort());
      this.#head = readHead(req);
      this.requestId = givenRequestId(this.#head) ?? this.#shared.nextRequestId();
      this.config = this.engine.config();
      this.#table = this.#shared.table(this.config);
      const match = this.#table.router.match(this.#head.path);
      if (typeof match === 'object') this.#pattern = match.place.path;
      this.#vaultOp = vaultOpOf(match, this.#head.path, this.#table.hasVault);
      const misframed = req.fault ?? checkFraming(this.#head, this.#shared.takesChunks);
      if (misframed === null) this.#reply(this.#admit(match));
      else this.#refuseFraming(misframed, match);
    } catch (error) {
      this.#fail(error);
    }
  }

  get isGone(): boolean {
    return this.#state === 'over' || this.#gaveWay;
  }

  header(name: string): string | undefined {
    return headerOf(this.#head, name);
  }

  headerList(name: string): string {
    return headerListOf(this.#head, name);
  }

  onGone(forget: () => void): void {
    this.#forget = forget;
  }

  hold(): void {
    if (this.#state === 'open') this.#res.hold();
  }

  nowMs(): number {
    return this.#shared.nowMs();
  }

  callerNow(): Caller | undefined {
    const { access } = this.#route!;
    if (access.kind !== 'scopes' && access.kind !== 'token') return undefined;
    const caller = this.#shared.authenticate(this.engine.config(), this.#head.authorization);
    return caller !== undefined && (access.kind === 'token' || may(caller, access.anyOf)) ? caller : undefined;
  }

  /** Whether the caller's token or session has lost access to the route since the request arrived. */
  #hasLostAccess({ access }: Route): boolean {
    if (this.caller === null || (access.kind !== 'scopes' && access.kind !== 'token')) return false;
    const { expiresAtMs, sessionDigest } = this.caller;
    const isExpired = expiresAtMs !== null && expiresAtMs <= this.nowMs();
    const mayHaveChanged = this.engine.config() !== this.config || sessionDigest !== undefined;
    return isExpired || (mayHaveChanged && this.callerNow() === undefined);
  }

  // The steps of a request: admission, lookup of the names in the path, body, query, handler. A step returns undefined while the body has not
  // arrived.

  #admit(match: Match): Reply {
    const head = this.#head;
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
    this.#hasOtherMethod = admission.wrongMethod !== null;
    this.params = admission.params;
    const found = route.find?.(this);
    if (isProblem(found)) return found;
    if (admission.wrongMethod) return admission.wrongMethod;
    this.found = found;
    if (route.raw) return this.#receive(route, route.raw);
    if (route.batch) return this.#receive(route, route.batch(this.config));
    if (route.body === null || head.contentLength === 0) return this.#handle(route);
    const limit = { bytesMax: this.config.api.bodyBytesMax, setting: 'api.max_body_size' };
    return this.#receive(route, route.bodyLimit ?? limit);
  }

  #receive(route: Route, limit: BodyLimit): Reply {
    if ((this.#head.contentLength ?? 0) > limit.bytesMax) return tooLarge(limit);
    this.#res.onBody(this.#head.contentLength, (chunk, isLast) => {
      if (this.#state !== 'open' || this.#isDecided) return;
      try {
        this.#reply(this.#arrived(route, chunk, isLast, limit));
      } catch (error) {
        this.#fail(error);
      }
    });
    return undefined;
  }

  /** Takes a chunk. A body in one chunk is read in place, unless it is a batch. Any other body is copied first. */
  #arrived(route: Route, bytes: Uint8Array, isLast: boolean, limit: BodyLimit): Reply {
    if (isLast && this.#arriving === null && !route.batch) {
      return bytes.length <= limit.bytesMax ? this.#readBody(route, bytes) : tooLarge(limit);
    }
    const room = route.batch ? this.#shared.batchRoom : this.#shared.room;
    this.#arriving ??= new RequestBody(limit.bytesMax, room, () => this.#giveWay(room));
    const taken = this.#arriving.append(bytes);
    if (taken === 'too_large') return tooLarge(limit);
    if (!isLast) return undefined;
    const reply = this.#readBody(route, this.#arriving.bytes());
    if (!route.batch) this.releaseBody();
    return reply;
  }

  /** Refuses this body, whose memory another body needs. The answer is sent later, because the server is handling a chunk of another request now. */
  #giveWay({ bytesMax }: BodyRoom): void {
    this.#isDecided = true;
    this.#gaveWay = true;
    this.body = undefined;
    const detail = `the bodies that are arriving exceed ${bytesMax} bytes together, and this one is the oldest; send it again`;
    setImmediate(() => this.#answer(problem('unavailable', detail)));
  }

  releaseBody(): void {
    if (this.#route?.batch) this.body = undefined;
    this.#arriving?.release();
    this.#arriving = null;
  }

  #readBody(route: Route, bytes: Uint8Array): Reply {
    if (this.#hasLostAccess(route)) return problem('unauthorized', 'the token lost its access while the body arrived');
    if (route.raw) {
      this.body = bytes;
      return route.handle(this as HttpCall<unknown, object>);
    }
    const check = this.#table.bodyChecks.get(route)!;
    const reading = route.batch ? readBatchBody(this.#head, bytes) : readBody(this.#head, bytes, check);
    if (reading.kind === 'problem') return reading;
    this.body = reading.value;
    return this.#handle(route);
  }

  #handle(route: Route): Reply {
    const query = readQuery(this.#head.query, route.query);
    if (query.kind === 'problem') return query;
    this.query = query.values;
    return route.handle(this as HttpCall<unknown, object>);
  }

  #reply(reply: Reply): void {
    if (reply === undefined) return;
    this.#isDecided = true;
    const audited = this.#vaultOp !== null && isProblem(reply) ? this.#audited(this.#vaultOp, reply) : reply;
    if (!(audited instanceof Promise)) this.#answer(audited);
    else {
      if (!isReading(this.#head.method) && !this.#route?.holdsLate) this.#res.hold();
      audited.then(
        answer => this.#answer(answer),
        error => this.#fail(error),
      );
    }
  }

  /** Answers a refused vault call after the audit trail has recorded the refusal. A 401 is answered at once, and a 503 is not recorded. */
  #audited(op: string, refusal: HttpProblem): Answer | Promise<Answer> {
    const { vault } = this.engine;
    if (problemStatus(refusal) === 503) return refusal;
    if (refusal.code !== 'unauthorized') return vault.refused(op, refusal.code).then(() => refusal);
    vault.unauthenticated(op);
    return refusal;
  }

  /**
   * Answers a request with bad framing, and closes the connection, because a proxy in front may have found a different end of the request. The answer
   * does not wait for the audit trail: meanwhile the server would read the following bytes as another request.
   */
  #refuseFraming(refusal: HttpProblem, match: Match): void {
    if (this.#vaultOp !== null) {
      const recorded = auditMisframed(this.engine.vault, this.#vaultOp, this.#head.authorization, refusal.code);
      recorded.catch(error => this.#shared.log.fault(error, this.requestId));
    }
    const status = problemStatus(refusal);
    this.#res.respondLast(this.#responseHead(status, problemType, noHeaders), writeProblem(refusal, this.requestId));
    if (typeof match === 'object' && this.#head.method === 'POST') match.place.routes.POST?.refused?.(refusal);
    this.#finish(status);
  }

  // The methods that write answers. `#answer` has no effect if an answer has begun or the caller has disconnected.

  #answer(answer: Answer): void {
    if (this.#state !== 'open') return;
    try {
      this.#write(answer);
    } catch (error) {
      this.#cut(error);
    }
  }

  #write(answer: Answer): void {
    switch (answer.kind) {
      case 'json':
        this.#writeWhole(answer.status, answer.contentType ?? jsonType, answer.headers ?? noHeaders, answer.body);
        break;
      case 'unchanged':
        this.#res.respondBare(this.#responseHead(304, null, answer.headers), null);
        this.#finish(304);
        break;
      case 'problem': {
        this.#route?.refused?.(answer);
        this.engine.metrics.requests.refused(this.#route, answer.code);
        const body = writeProblem(answer, this.requestId);
        this.#writeWhole(problemStatus(answer), problemType, problemHeaders(answer), body);
        break;
      }
      case 'stream':
        this.#stream(answer);
    }
  }

  #writeWhole(status: number, contentType: string, headers: Headers, body: string | Uint8Array): void {
    const head = this.#responseHead(status, contentType, headers);
    if (this.#head.method === 'HEAD') this.#res.respondBare(head, Buffer.byteLength(body));
    else this.#res.respond(head, body);
    this.#finish(status);
  }

  #responseHead(status: number, contentType: string | null, headers: Headers): ResponseHead {
    const isOpen = this.#route?.access.kind === 'open';
    this.#status = status;
    return { status, requestId: this.requestId, contentType, headers, isOpen, isClosing: this.engine.stopping() };
  }

  #stream(answer: Answer & { readonly kind: 'stream' }): void {
    const head = this.#responseHead(answer.status ?? 200, answer.contentType ?? jsonType, answer.headers ?? noHeaders);
    if (this.#head.method === 'HEAD') {
      this.#res.respondBare(head, null);
      this.#finish(head.status);
      return;
    }
    this.#state = 'streaming';
    this.#res.begin(head);
    this.#res.onWritable(() => {
      this.#blocked = false;
      this.#resumeWriting();
    });
    answer.open(this);
  }

  // The methods that write a streamed answer (`AnswerSink`).

  write(text: string): boolean {
    if (this.#state !== 'streaming') return false;
    this.#blocked = !this.#res.write(text);
    return !this.#blocked;
  }

  onReady(resume: () => void): void {
    this.#resume = resume;
    if (!this.#blocked) setImmediate(() => this.#resumeWriting());
  }

  end(): void {
    if (this.#state !== 'streaming') return;
    this.#res.end();
    this.#finish(this.#status);
  }

  #resumeWriting(): void {
    const resume = this.#resume;
    if (resume === null || this.#state !== 'streaming') return;
    this.#resume = null;
    try {
      resume();
    } catch (error) {
      this.#cut(error);
    }
  }

  // The end of the exchange: answered, aborted by the caller, or cut off after an error.

  #finish(status: number | null): void {
    this.#state = 'over';
    this.#forget = null;
    this.releaseBody();
    const { log } = this.#shared;
    const durationMs = performance.now() - this.#startedMs;
    this.engine.metrics.requests.count(this.#hasOtherMethod ? null : this.#route, status, durationMs);
    const kind = lineKind(this.#route, status);
    if (!log.debug && kind === null) return;
    const line = requestLine(this, this.#head.method, this.#pattern, status, durationMs);
    if (kind === 'refused') log.refused(line);
    if (kind === 'control') log.control(controlLine(line, this.params));
    if (log.debug) log.request(line);
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
    if (error instanceof ThreadGone || isStoreFault(error))
      this.#answer(problem('unavailable', 'the ledger has failed; the service is shutting down'));
    else this.#answer(problem('internal_error', 'internal error; the log has the details under this request id'));
  }

  /** Closes the connection after an error during an answer: this shows the caller that the answer is incomplete. */
  #cut(error: unknown): void {
    this.#shared.log.fault(error, this.requestId);
    if (this.#state !== 'over') this.#res.close();
  }
}
