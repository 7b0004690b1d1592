// Requests to the API of the service that serves this page.

import { signal } from '@preact/signals';

/** The answer of the service to a request that it refused, or the reason why there is no answer (`status` 0). */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly retryAfterS: number | null;
  constructor(status: number, code: string, title: string, detail: string, retryAfterS: number | null = null) {
    super(detail === '' ? title : `${title}: ${detail}`);
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = detail;
    this.retryAfterS = retryAfterS;
  }
}

export type RequestMethod = 'GET' | 'POST' | 'DELETE';

type Credentials = { readonly token: () => string | null; readonly refused: () => void };
/** Whether the last request was answered. */
export const isReachable = signal(true);

let credentials: Credentials = { token: () => null, refused: () => {} };

/** Says where requests take their token from, and which function is called once the service no longer accepts it. */
export function useCredentials(given: Credentials): void {
  credentials = given;
}

/** Sends a request with the token of the session, or with another `token`. Throws a `Refusal`. An abort throws the abort's reason. */
export async function send(
  method: RequestMethod,
  path: string,
  options: {
    readonly body?: unknown;
    readonly signal?: AbortSignal | undefined;
    readonly headers?: Readonly<Record<string, string>>;
    /** Null: no token is sent. */
    readonly token?: string | null;
  } = {},
): Promise<Response> {
  const own = credentials.token();
  const token = options.token === undefined ? own : options.token;
  const headers: Record<string, string> = { ...options.headers };
  if (token !== null) headers['Authorization'] = `Bearer ${token}`;
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      cache: 'no-store',
      credentials: 'omit',
      signal: options.signal ?? null,
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    isReachable.value = false;
    throw new Refusal(0, 'unreachable', 'The service does not answer', 'The page tries again.');
  }
  isReachable.value = true;
  if (response.ok) return response;
  const refusal = await refusalOf(response);
  if (response.status === 401 && token !== null && token === credentials.token()) credentials.refused();
  throw refusal;
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text();
  const header = response.headers.get('Retry-After');
  const retryAfterS = header === null || !/^\d+$/.test(header) ? null : Number(header);
  let problem: { type?: unknown; title?: unknown; detail?: unknown } = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    // The answer of a proxy, for example, is no problem document: its status says what there is to say.
  }
  const words = (value: unknown, otherwise: string) => (typeof value === 'string' ? value : otherwise);
  const code = words(problem.type, '').replace('urn:headgate:problem:', '') || `status_${response.status}`;
  const title = words(problem.title, response.statusText || `Status ${response.status}`);
  return new Refusal(response.status, code, title, words(problem.detail, ''), retryAfterS);
}

/** Sends a request and returns the value of the JSON answer; undefined if the answer has no body. */
export async function request<T>(
  method: RequestMethod,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await send(method, path, { body, signal });
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** The answer as text: integers of any size keep their digits. */
export async function requestText(path: string, signal?: AbortSignal): Promise<string> {
  return (await send('GET', path, { signal })).text();
}

/** The source text of a member of a JSON object, as it was sent; undefined if the object lacks it. `text` must be valid JSON. */
export function rawMember(text: string, name: string): string | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return undefined;
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== '}') {
    const keyEnd = valueEnd(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    if (key === name) return text.slice(start, end);
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return undefined;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 32) at++;
  return at;
}

/** The end of the JSON value that begins at `from`. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  let at = from;
  for (; at < text.length; at++) {
    const sign = text[at]!;
    if (sign === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
      if (depth === 0) return at + 1;
    } else if (sign === '{' || sign === '[') depth++;
    else if (sign === '}' || sign === ']') {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (sign === ',' || sign === ':' || sign.charCodeAt(0) <= 32)) return at;
  }
  return at;
}
