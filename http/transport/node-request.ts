// A request head parsed by node:http, as a RequestSource.
import type { IncomingMessage } from 'node:http';
import type { RequestSource } from '../head.ts';
import { type HttpProblem, problem } from '../problem.ts';

/** The maximum number of header lines; a request with more is refused. */
const headerLinesMax = 100;

/** The refusal of an invalid request that Node's parser has accepted; null if the request is valid. */
function faultOf({ httpVersion, rawHeaders }: IncomingMessage): HttpProblem | null {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return wrongVersion;
  if (rawHeaders.length > 2 * headerLinesMax) {
    return problem('head_too_large', `a request may have at most ${headerLinesMax} header lines`);
  }
  if (httpVersion === '1.1') {
    return has(rawHeaders, 'host') ? null : problem('malformed_request', 'HTTP/1.1 needs a Host header');
  }
  if (!has(rawHeaders, 'transfer-encoding')) return null;
  return problem('malformed_request', 'HTTP/1.0 has no Transfer-Encoding');
}

export const wrongVersion = problem('http_version', 'only HTTP/1.1 and HTTP/1.0 are supported');

function has(rawHeaders: readonly string[], name: string): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === name.length && rawHeaders[i]!.toLowerCase() === name) return true;
  }
  return false;
}

/** The part of an absolute-form target before its path (RFC 9112, 3.2.2). */
const origin = /^https?:\/\/[^/?#]*/i;

export class NodeRequest implements RequestSource {
  readonly fault: HttpProblem | null;
  readonly #request: IncomingMessage;
  readonly #target: string;
  readonly #queryAt: number;

  constructor(request: IncomingMessage) {
    const url = request.url ?? '';
    this.fault = faultOf(request);
    this.#request = request;
    this.#target = text(url.startsWith('/') ? url : pathOf(url));
    this.#queryAt = this.#target.indexOf('?');
  }

  getCaseSensitiveMethod(): string {
    return this.#request.method!;
  }

  getUrl(): string {
    return this.#queryAt < 0 ? this.#target : this.#target.slice(0, this.#queryAt);
  }

  getQuery(): string | undefined {
    return this.#queryAt < 0 ? undefined : this.#target.slice(this.#queryAt + 1);
  }

  forEach(visit: (name: string, value: string) => void): void {
    const { rawHeaders } = this.#request;
    for (let i = 0; i < rawHeaders.length; i += 2) visit(rawHeaders[i]!.toLowerCase(), text(rawHeaders[i + 1]!));
  }
}

function pathOf(url: string): string {
  const rest = url.replace(origin, '');
  return rest === url || rest.startsWith('/') ? rest : `/${rest}`;
}

const beyondAscii = /[\x80-\xff]/;

/** Decodes as UTF-8 a text that node:http has decoded as Latin-1. */
function text(bytes: string): string {
  return beyondAscii.test(bytes) ? Buffer.from(bytes, 'latin1').toString() : bytes;
}
