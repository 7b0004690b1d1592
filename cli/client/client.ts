// The HTTP API from the caller's side: one request, one answer, and every way of failing as a `Failure`.
import { exitStatus } from '../exit-status.ts';
import { Failure, failure, type ProblemDocument, usageFailure } from '../failure.ts';
import type { Address } from './address.ts';

/** Of waiting for the head of an answer. */
const answerMsMax = 60_000;

export type Query = { readonly [name: string]: string | number | boolean | undefined };

export class Client {
  readonly url: string;
  readonly #token: string | null;

  constructor({ url, token }: Address) {
    // What a header cannot carry would be quoted by the error that says so.
    if (token !== null && !/^[\x21-\x7e]+$/.test(token))
      throw usageFailure('the token holds characters that no token has');
    this.url = url;
    this.#token = token;
  }

  async get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    return readJson(await this.open('GET', path + queryText(query)));
  }

  async post<Answer>(path: string, body?: unknown, headers: OpenOptions['headers'] = {}): Promise<Answer> {
    return readJson(await this.open('POST', path, body, { headers }));
  }

  /** The open answer, when its status is one of success. `signal` ends waiting and reading. */
  async open(method: 'GET' | 'POST', path: string, body?: unknown, more: OpenOptions = {}): Promise<Response> {
    const tooLate = new AbortController();
    const timer = setTimeout(() => tooLate.abort(new TooLate()), answerMsMax);
    const headers: Record<string, string> = { ...more.headers };
    if (this.#token !== null) headers['Authorization'] = `Bearer ${this.#token}`;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    try {
      const response = await fetch(this.url + path, {
        method,
        headers,
        // A token goes where it was sent, and nowhere else.
        redirect: 'error',
        signal: more.signal ? AbortSignal.any([more.signal, tooLate.signal]) : tooLate.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw await refusal(response);
      return response;
    } catch (error) {
      throw error instanceof Failure || more.signal?.aborted ? error : unreachable(this.url, error);
    } finally {
      clearTimeout(timer);
    }
  }
}

type OpenOptions = {
  readonly signal?: AbortSignal;
  readonly headers?: { readonly [name: string]: string };
};

class TooLate extends Error {}

/** A path segment that names something from outside. */
export function segment(name: string): string {
  // The URL parser would take these two for steps along the path.
  return name === '.' || name === '..' ? name.replaceAll('.', '%252E') : encodeURIComponent(name);
}

/** `?a=b`, or nothing: without what is undefined. */
export function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters}`;
}

async function readJson<Answer>(response: Response): Promise<Answer> {
  let text = '';
  try {
    text = await response.text();
    return JSON.parse(text) as Answer;
  } catch (error) {
    throw failure(
      exitStatus.unavailable,
      'broken_answer',
      'The answer cannot be read',
      `what answers at ${response.url} broke off, or is no headgate: its answer is not JSON`,
      error,
    );
  }
}

/** The exit status that stands for an HTTP status. */
function exitStatusOf(httpStatus: number): number {
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
      return exitStatus.config;
    case 502:
    case 503:
    case 504:
      return exitStatus.unavailable;
    default:
      return exitStatus.failed;
  }
}

async function refusal(response: Response): Promise<Failure> {
  const { status, statusText } = response;
  const text = await response.text().catch(() => '');
  return new Failure(exitStatusOf(status), problemIn(text) ?? madeProblem(status, statusText));
}

function problemIn(text: string): ProblemDocument | null {
  try {
    const body: unknown = JSON.parse(text);
    const isProblem = typeof body === 'object' && body !== null && 'detail' in body && 'code' in body;
    return isProblem && typeof body.detail === 'string' ? (body as ProblemDocument) : null;
  } catch {
    return null;
  }
}

function madeProblem(status: number, statusText: string): ProblemDocument {
  const detail = `the answer was ${status} ${statusText}, without a problem document: is this a headgate?`;
  return { type: 'about:blank', title: statusText || 'Refused', status, detail, code: 'unexpected_answer' };
}

function unreachable(url: string, error: unknown): Failure {
  const detail = `cannot reach the service at ${url}: ${reasonOf(error)}`;
  return failure(exitStatus.unavailable, 'unreachable', 'The service cannot be reached', detail, error);
}

/** `fetch` hides what happened in its causes. */
function reasonOf(error: unknown): string {
  if (error instanceof TooLate) return `no answer within ${answerMsMax / 1000} s`;
  const { cause } = error as { cause?: { code?: string; message?: string } };
  if (cause?.code === 'ECONNREFUSED') return 'connection refused; is it running? "headgate start" starts it';
  return cause?.message || cause?.code || (error as Error).message;
}
