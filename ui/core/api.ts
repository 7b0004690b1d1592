// Requests to the API of the service that serves this page.

import { signal } from '@preact/signals';

export { indented, rawElements, rawMember, withMember } from './raw-json.ts';

/** The answer of the service to a request that it refused, or the reason why there is no answer (`status` 0). */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly retryAfterS: number | null;
  /** What is wrong with the body, by the place in it, if the answer lists several errors. */
  readonly errors: readonly RefusedPlace[];
  constructor(
    status: number,
    code: string,
    title: string,
    detail: string,
    retryAfterS: number | null = null,
    errors: readonly RefusedPlace[] = [],
  ) {
    super(detail === '' ? title : `${title}: ${detail}`);
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = detail;
    this.retryAfterS = retryAfterS;
    this.errors = errors;
  }
}

/** A place in a body, as a JSON pointer, and what is wrong there. */
export type RefusedPlace = { readonly pointer: string; readonly message: string };

export type RequestMethod = 'GET' | 'POST' | 'DELETE';

type Credentials = { readonly token: () => string | null; readonly refused: () => void };
/** Whether the last request was answered. */
export const isReachable = signal(true);

let credentials: Credentials = { token: () => null, refused: () => {} };

/** Sets where requests get their token, and the function that is called when the service no longer accepts the token. */
export function useCredentials(given: Credentials): void {
  credentials = given;
}

type UnansweredKey = { readonly key: string; readonly atMs: number };
/**
 * The idempotency keys of requests that may have been done without an answer of the service, by method, path and body. A request that is repeated
 * within `repeatMsMax` has the same key, so it makes no second job. Later, it is a new wish of the user.
 */
const unanswered = new Map<string, UnansweredKey>();
const unansweredMax = 100;
const repeatMsMax = 5 * 60_000;

type SendOptions = {
  readonly body?: unknown;
  /** The body as JSON, instead of `body`: numbers in it keep their digits. */
  readonly bodyText?: string;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null: no token is sent. */
  readonly token?: string | null;
};

/**
 * Sends a request with the token of the session, or with another `token`, and returns the whole answer as text. Throws a `Refusal`. An abort
 * throws the abort's reason.
 */
export function send(method: RequestMethod, path: string, options: SendOptions = {}): Promise<string> {
  return exchange(method, path, options, response => response.text());
}

/** Sends a request whose answer has no end, such as the stream of events, and returns its body. Throws a `Refusal`. */
export function openStream(path: string, options: SendOptions): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  return exchange('GET', path, options, async response => response.body!);
}

async function exchange<T>(
  method: RequestMethod,
  path: string,
  options: SendOptions,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const own = credentials.token();
  const token = options.token === undefined ? own : options.token;
  // Tokens consist of visible ASCII characters. With others the browser would not even send the request.
  if (token !== null && /[^!-~]/.test(token))
    throw new Refusal(
      401,
      'unauthorized',
      'Unauthorized',
      'The token contains a character that is not allowed in tokens.',
    );
  const headers: Record<string, string> = { ...options.headers };
  if (token !== null) headers['Authorization'] = `Bearer ${token}`;
  const body = options.bodyText ?? (options.body === undefined ? null : JSON.stringify(options.body));
  if (body !== null) headers['Content-Type'] = 'application/json';
  const repeated = `${method} ${path} ${body}`;
  const key = keyFor(repeated);
  if (method === 'POST') headers['Idempotency-Key'] = key;
  let answered: { readonly taken: T } | { readonly refused: Response; readonly text: string };
  try {
    const response = await fetch(path, {
      method,
      headers,
      cache: 'no-store',
      credentials: 'omit',
      signal: options.signal ?? null,
      ...(body !== null && { body }),
    });
    // The whole answer is read here, because an answer that breaks off counts as no answer.
    if (response.ok) answered = { taken: await read(response) };
    else answered = { refused: response, text: await response.text() };
  } catch (error) {
    if (options.signal?.aborted) throw error;
    isReachable.value = false;
    if (method === 'POST') keepKey(repeated, key);
    throw new Refusal(0, 'unreachable', 'The service does not answer', 'It may be restarting.');
  }
  isReachable.value = true;
  // A status from 500 on may come from a proxy that has lost the answer of the service. The service itself remembers no request that it refuses.
  if (method === 'POST' && 'refused' in answered && answered.refused.status >= 500) keepKey(repeated, key);
  else unanswered.delete(repeated);
  if ('taken' in answered) return answered.taken;
  const refusal = refusalOf(answered.refused, answered.text);
  if (refusal.status === 401 && token !== null && token === credentials.token()) credentials.refused();
  throw refusal;
}

function keyFor(repeated: string): string {
  const kept = unanswered.get(repeated);
  return kept !== undefined && Date.now() - kept.atMs < repeatMsMax ? kept.key : randomKey();
}

function keepKey(repeated: string, key: string): void {
  if (unanswered.size >= unansweredMax) unanswered.clear();
  unanswered.set(repeated, { key, atMs: Date.now() });
}

/** Without HTTPS a page has no `crypto.randomUUID`. */
function randomKey(): string {
  return `ui-${Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')}`;
}

function refusalOf(response: Response, text: string): Refusal {
  const header = response.headers.get('Retry-After');
  const retryAfterS = header === null || !/^\d+$/.test(header) ? null : Number(header);
  let problem: { type?: unknown; title?: unknown; detail?: unknown; errors?: readonly RefusedPlace[] } = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    // The answer is not JSON, for example because a proxy sent it. The refusal then shows only its status.
  }
  const words = (value: unknown, otherwise: string) => (typeof value === 'string' ? value : otherwise);
  const code = words(problem.type, '').replace('urn:headgate:problem:', '') || `status_${response.status}`;
  const title = words(problem.title, response.statusText || `Status ${response.status}`);
  const errors = Array.isArray(problem.errors) ? problem.errors : [];
  return new Refusal(response.status, code, title, words(problem.detail, ''), retryAfterS, errors);
}

/** Sends a request and returns the value of the JSON answer; undefined if the answer has no body. */
export async function request<T>(
  method: RequestMethod,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const text = await send(method, path, { body, signal });
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Sends a GET request and returns the answer as text, in which integers of any size keep their digits. Throws a `Refusal`. */
export function requestText(path: string, signal?: AbortSignal): Promise<string> {
  return send('GET', path, { signal });
}
