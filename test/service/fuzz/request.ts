// A request of the fuzzer, and its bytes.
import { can } from '../../unit/http/differences.ts';

export type Request = {
  readonly method: string;
  /** Path and query as they are sent, one byte for each character. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | null;
  /** Sends the body in chunks of this size. Null: in one piece, with Content-Length. */
  readonly chunkBytes: number | null;
  /** Sends two packets, cut at this share of the length. If the server needs the first line in one packet, only the rest is cut. */
  readonly cut: number | null;
  /** The request follows the documents and its token may do everything, so it must not be refused. */
  readonly isValid: boolean;
  /** The HTTP parser may refuse the request with an answer of its own, or close the connection. */
  readonly isLoose: boolean;
  /** The bytes to send instead of a request made of the fields above; null: there are none. */
  readonly raw: Buffer | null;
};

export const plain: Request = {
  method: 'GET',
  target: '/',
  headers: [],
  body: null,
  chunkBytes: null,
  cut: null,
  isValid: false,
  isLoose: false,
  raw: null,
};

/** The packets in which the request is sent. */
export function packetsOf(request: Request): Buffer[] {
  const bytes = request.raw ?? written(request);
  if (request.cut === null) return [bytes];
  const from = can('a request line in pieces') ? 0 : bytes.indexOf('\n') + 1;
  const at = from + Math.floor((bytes.length - from) * request.cut);
  return [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0);
}

function written({ method, target, headers, body, chunkBytes }: Request): Buffer {
  const framing =
    body === null ? '' : chunkBytes === null ? `Content-Length: ${body.length}\r\n` : 'Transfer-Encoding: chunked\r\n';
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: fuzz\r\n${lines}${framing}\r\n`, 'latin1');
  if (body === null) return head;
  return Buffer.concat([head, chunkBytes === null ? body : chunked(body, chunkBytes)]);
}

function chunked(body: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** Whether the request asks the server to close the connection after the answer. */
export function asksToClose({ headers }: Request): boolean {
  return headers.some(([name, value]) => name.toLowerCase() === 'connection' && value.toLowerCase() === 'close');
}

/** The request as text, for the message of a failed test. */
export function told(request: Request): string {
  const text = packetsOf(request)
    .map(packet => packet.toString('latin1'))
    .join('');
  return text.length > 1_500 ? `${JSON.stringify(text.slice(0, 1_500))}… (${text.length} bytes)` : JSON.stringify(text);
}
