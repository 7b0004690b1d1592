// HTTP requests whose bytes are built once.

export type RequestParts = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly host: string;
  readonly token: string;
  /** Further headers: whole lines, each with CRLF. */
  readonly headers?: string;
  /** The body, which is JSON. */
  readonly body?: string;
};

export function requestBytes({ method, path, host, token, headers = '', body }: RequestParts): Buffer {
  const entity =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n${headers}${entity}\r\n`;
  return Buffer.from(head + (body ?? ''));
}

/** Enough digits for every number that a bench counts to. */
const digits = 9;
const blank = 'n'.repeat(digits);

/**
 * A POST with a payload such as `{"n":"000000042"}`, and with the member `pad` if it must be longer. Each number is
 * written into the same bytes.
 */
export class NumberedRequest {
  readonly bytes: Buffer;
  readonly #at: number;

  constructor(parts: Omit<RequestParts, 'method' | 'body'>, padBytes = 0) {
    const payload = { ...(padBytes > 0 && { pad: 'x'.repeat(padBytes) }), n: blank };
    this.bytes = requestBytes({ ...parts, method: 'POST', body: JSON.stringify({ payload }) });
    this.#at = this.bytes.lastIndexOf(blank);
  }

  number(n: number): Buffer {
    let rest = n;
    for (let i = this.#at + digits - 1; i >= this.#at; i--) {
      this.bytes[i] = 48 + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    return this.bytes;
  }
}

/** The number as the payload has it: text with leading zeros. */
export function numberText(n: number): string {
  return String(n).padStart(digits, '0');
}
