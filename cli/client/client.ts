// A client of the HTTP API. Each error that its methods throw is a `CommandFailure`, unless the caller has aborted the request.
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, failure, type ProblemDocument, usageFailure } from '../failure.ts';
import type { Address } from './address.ts';

/**
 * The longest wait for the head of the answer to one request, unless the caller gives another one. The service itself may delay an
 * answer by up to 60 s (`?wait`).
 */
const answerMsMaxUsual = 75_000;

type QueryValue = string | number | boolean | undefined;
/** A list becomes one parameter for each of its values. */
export type ClientQuery = { readonly [name: string]: QueryValue | readonly string[] };

/**
 * The members that an answer must have to count as an answer of headgate. `true`: a member of any type. A list of names: the member is
 * a list, and each of its elements has members with these names.
 */
export type AnswerShape<Answer> = { readonly [Member in keyof Answer]?: true | readonly string[] };

export class Client {
  readonly url: string;
  /**
   * The API tokens, in the order in which they are tried. The token that was accepted last comes first. Null means a call without a token.
   */
  #tokens: readonly (string | null)[];
  readonly #tokenHint: string | null;
  /** The host name for which the certificate of the service must be valid; undefined: the host in the URL. */
  readonly serverName: string | undefined;

  constructor({ url, serverName, tokens, tokenHint }: Pick<Address, 'url' | 'serverName' | 'tokens' | 'tokenHint'>) {
    // `fetch` would quote an invalid token in its error message.
    if (tokens.some(token => !/^[\x21-\x7e]+$/.test(token)))
      throw usageFailure('the token contains a character that a token cannot have');
    this.url = url;
    this.serverName = serverName;
    this.#tokens = tokens.length > 0 ? tokens : [null];
    this.#tokenHint = tokenHint;
  }

  /** Whether calls carry a token. */
  get hasToken(): boolean {
    return this.#tokens[0] !== null;
  }

  async get<Answer>(
    path: string,
    form: AnswerShape<Answer>,
    query: ClientQuery = {},
    more: OpenOptions = {},
  ): Promise<Answer> {
    return readJson(await this.open('GET', path + queryText(query), undefined, more), form);
  }

  /** A body of bytes is sent unchanged; `more.headers` must have its Content-Type, unless it is JSON. Any other body is sent as JSON. */
  async post<Answer>(path: string, form: AnswerShape<Answer>, body?: unknown, more: OpenOptions = {}): Promise<Answer> {
    return readJson(await this.open('POST', path, body, more), form);
  }

  /**
   * Resolves with the response once its head has arrived; throws if the status is not a success. `more.signal` aborts the wait
   * and the reading of the body. A call whose token is refused had no effect, and is repeated with the next token.
   */
  async open(method: 'GET' | 'POST', path: string, body?: unknown, more: OpenOptions = {}): Promise<Response> {
    const tokens = this.#tokens;
    let refused: CommandFailure | null = null;
    for (const token of tokens) {
      try {
        const response = await this.#send(token, method, path, body, more);
        if (token !== this.#tokens[0]) this.#tokens = [token, ...tokens.filter(other => other !== token)];
        return response;
      } catch (error) {
        if (!(error instanceof CommandFailure) || error.exitStatus !== exitStatus.denied) throw error;
        // If all tokens are refused, the first 403 is reported, because a missing scope explains more than an unknown token. If there is
        // no 403, the last 401 is reported.
        if (refused?.problem['status'] !== 403) refused = error;
      }
    }
    throw new CommandFailure(refused!.exitStatus, refused!.problem, refused, this.#tokenHint);
  }

  async #send(token: string | null, method: string, path: string, body: unknown, more: OpenOptions): Promise<Response> {
    const { answerMsMax = answerMsMaxUsual } = more;
    const tooLate = new AbortController();
    const timer = setTimeout(() => tooLate.abort(new Error(`no answer within ${answerMsMax / 1000} s`)), answerMsMax);
    const headers: Record<string, string> = { ...more.headers };
    if (token !== null) headers['Authorization'] = `Bearer ${token}`;
    if (body !== undefined) headers['Content-Type'] ??= 'application/json';
    try {
      const response = await this.#fetch(this.url + path, {
        method,
        headers,
        // Redirects are not followed, because a token may be sent only to the given address.
        redirect: 'error',
        signal: more.signal ? AbortSignal.any([more.signal, tooLate.signal]) : tooLate.signal,
        ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
      });
      if (!response.ok) throw await refusal(response);
      return response;
    } catch (error) {
      throw error instanceof CommandFailure || more.signal?.aborted ? error : unreachable(this.url, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    if (this.serverName === undefined) return fetch(url, init);
    const { fetchNamed } = await import('./named-fetch.ts');
    return fetchNamed(url, init, this.serverName);
  }
}

type OpenOptions = {
  readonly signal?: AbortSignal;
  readonly headers?: { readonly [name: string]: string };
  /** The longest wait for the head of the answer. `fetch` itself gives up after 300 s. */
  readonly answerMsMax?: number;
};

export function segment(name: string): string {
  // The URL parser resolves `.` and `..` as relative paths, even if they are written as `%2E`. With the percent sign escaped, the service
  // receives `%2E` as the name, and reports that it is unknown.
  return name === '.' || name === '..' ? name.replaceAll('.', '%252E') : encodeURIComponent(name);
}

/** The query as text such as `?a=b`; empty if no value is defined. */
export function queryText(query: ClientQuery): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined) parameters.append(name, String(one));
  }
  return parameters.size === 0 ? '' : `?${parameters}`;
}

async function readJson<Answer>(response: Response, form: AnswerShape<Answer>): Promise<Answer> {
  let answer: unknown;
  try {
    answer = JSON.parse(await response.text());
  } catch (error) {
    throw brokenAnswer(
      `the answer from ${response.url} is not JSON: it broke off, or this is not a headgate service`,
      error,
    );
  }
  for (const [member, elements] of Object.entries(form as AnswerShape<Record<string, unknown>>)) {
    const value = hasMember(answer, member) ? answer[member] : undefined;
    const fits =
      elements === true
        ? value !== undefined
        : Array.isArray(value) && value.every(element => elements!.every(name => hasMember(element, name)));
    if (!fits)
      throw brokenAnswer(`the service at ${response.url} is not headgate: its answer has no valid "${member}"`);
  }
  return answer as Answer;
}

export function hasMember(value: unknown, name: string): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

export function brokenAnswer(detail: string, cause?: unknown): CommandFailure {
  return failure(exitStatus.unavailable, 'broken_answer', 'The answer cannot be read', detail, cause);
}

const refusedReloads: ReadonlySet<string> = new Set(['reload_refused', 'reload_would_hold']);

/** The exit status of a command whose request was refused with this HTTP status and problem code. */
function exitStatusOf(httpStatus: number, code: string): number {
  switch (httpStatus) {
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
      return exitStatus.usage;
    case 401:
    case 403:
      return exitStatus.denied;
    case 404:
      return exitStatus.notFound;
    case 409:
      return refusedReloads.has(code) ? exitStatus.config : exitStatus.failed;
    case 502:
    case 503:
    case 504:
      return exitStatus.unavailable;
    default:
      return exitStatus.failed;
  }
}

async function refusal(response: Response): Promise<CommandFailure> {
  const { status, statusText } = response;
  const text = await response.text().catch(() => '');
  const problem = problemIn(text) ?? madeProblem(status, statusText);
  return new CommandFailure(exitStatusOf(status, problem.code), problem);
}

function problemIn(text: string): ProblemDocument | null {
  try {
    const body: unknown = JSON.parse(text);
    const isProblem = hasMember(body, 'detail') && hasMember(body, 'code') && typeof body['detail'] === 'string';
    return isProblem ? (body as ProblemDocument) : null;
  } catch {
    return null;
  }
}

function madeProblem(status: number, statusText: string): ProblemDocument {
  const detail = `the answer was ${status} ${statusText}, without a problem document; is this a headgate service?`;
  return { type: 'about:blank', title: statusText || 'Refused', status, detail, code: 'unexpected_answer' };
}

function unreachable(url: string, error: unknown): CommandFailure {
  const detail = `cannot reach the service at ${url}: ${reasonOf(error)}`;
  return failure(exitStatus.unavailable, 'unreachable', 'The service cannot be reached', detail, error);
}

/** OpenSSL's error codes for a certificate that no trusted authority has issued. */
const untrusted: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Why a request failed, in words. An error that `fetch` throws has the reason in its `cause`. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  if (cause?.code === 'ECONNREFUSED') return 'connection refused; is it running? "headgate start" starts it';
  const said = cause?.message || cause?.code || (error as Error).message;
  if (cause?.code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${said}; name the service as its certificate does: --url https://HOST:PORT`;
  return untrusted.has(cause?.code ?? '') ? `${said}; to trust a private CA, set NODE_EXTRA_CA_CERTS=ca.pem` : said;
}
