// Copies the head of a request, which the HTTP server offers only for a short time, and checks the framing of the request.

import type { HttpProblem } from './problem.ts';

/** A request head as the HTTP server offers it, valid until `RequestHandler.begin` returns. Header names are in lower case. */
export interface RequestSource {
  /** The refusal of a request that the server has parsed and does not accept; null or absent: it accepts the request. */
  readonly fault?: HttpProblem | null;
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(visit: (name: string, value: string) => void): void;
}

export type RequestHead = {
  /** The method as it was sent: `get` is not GET (RFC 9110, 9.1). */
  readonly method: string;
  /** The path as it was sent, with percent-escapes. */
  readonly path: string;
  readonly query: string;
  /** The headers as one list: name (in lower case), value, name, value … */
  readonly headers: readonly string[];
  /** The length of the body in bytes; 0 without a body, null if the body is chunked. */
  readonly contentLength: number | null;
  /** `doubtful`: another parser could find a different end of the request, or a different Host. */
  readonly framing: 'sound' | 'doubtful';
  /** The header Authorization; undefined if the request has none, or more than one. */
  readonly authorization: string | undefined;
};

// One callback serves all requests, so no request allocates a closure.
let headers: string[] = [];
function visit(name: string, value: string): void {
  headers.push(name, value);
}

export function readHead(source: RequestSource): RequestHead {
  headers = [];
  source.forEach(visit);
  let lengths = 0;
  let codings = 0;
  let hosts = 0;
  let authorizations = 0;
  let length = '';
  let coding = '';
  let authorization: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    switch (headers[i]) {
      case 'content-length':
        lengths++;
        length = headers[i + 1]!;
        break;
      case 'transfer-encoding':
        codings++;
        coding = headers[i + 1]!;
        break;
      case 'host':
        hosts++;
        break;
      case 'authorization':
        authorizations++;
        authorization = headers[i + 1]!;
        break;
    }
  }
  const isSound =
    hosts <= 1 &&
    lengths + codings <= 1 &&
    (lengths === 0 || decimal.test(length)) &&
    (codings === 0 || coding === 'chunked');
  return {
    method: source.getCaseSensitiveMethod(),
    path: source.getUrl(),
    query: source.getQuery() ?? '',
    headers,
    contentLength: codings > 0 ? null : lengths === 0 ? 0 : Number(length),
    framing: isSound ? 'sound' : 'doubtful',
    authorization: authorizations === 1 ? authorization : undefined,
  };
}

const decimal = /^\d{1,15}$/;

/** The value of the first header of this (lower-case) name. */
export function headerOf(head: RequestHead, name: string): string | undefined {
  for (let i = 0; i < head.headers.length; i += 2) if (head.headers[i] === name) return head.headers[i + 1];
  return undefined;
}

/** The values of all headers of this (lower-case) name, separated by commas. */
export function headerListOf(head: RequestHead, name: string): string {
  let list = '';
  for (let i = 0; i < head.headers.length; i += 2) {
    if (head.headers[i] === name) list += list === '' ? head.headers[i + 1] : `, ${head.headers[i + 1]}`;
  }
  return list;
}

const requestIdShape = /^[\w.:+/=~@-]{1,128}$/;

/** The caller's X-Request-Id, if it is safe to echo. */
export function givenRequestId(head: RequestHead): string | undefined {
  const given = headerOf(head, 'x-request-id');
  return given !== undefined && requestIdShape.test(given) ? given : undefined;
}

const jsonType = /^application\/(?:[\w.!#$&^+-]+\+)?json[ \t]*(?:;|$)/i;

/** Whether a body of this Content-Type is read as JSON: the type is a JSON type, empty or absent. */
export function mayBeJson(type: string | undefined): boolean {
  return type === undefined || type === '' || jsonType.test(type);
}

export const ndjsonType = 'application/x-ndjson';

/** Whether a body of this Content-Type is NDJSON: one JSON value a line. */
export function isNdjson(type: string | undefined): boolean {
  return type !== undefined && /^application\/x-ndjson *(?:;|$)/i.test(type);
}
