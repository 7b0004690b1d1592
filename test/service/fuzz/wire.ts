// A client that sends any bytes over a kept connection and reads what comes back, one request at a time.
import { connect, type Socket } from 'node:net';

export type Answer = {
  readonly kind: 'answer';
  readonly status: number;
  /** The headers by lower-case name; of several with the same name, the last. */
  readonly headers: ReadonlyMap<string, string>;
  /** Empty for a stream of events, whose connection is closed as soon as the head has arrived. */
  readonly body: Buffer;
  /** The number of bytes that arrived after the answer. */
  readonly surplus: number;
};
export type Reply = Answer | { readonly kind: 'closed' } | { readonly kind: 'silent' };

export type Sending = {
  readonly parts: readonly Buffer[];
  readonly isHead: boolean;
  /** The connection is not used again. */
  readonly isLast: boolean;
  /** Closes its side of the connection right after the request, so that the answer may be missed. */
  readonly endsAtOnce: boolean;
};

/** The longest wait for an answer: enough even if the machine is ten times slower. */
const silenceMsMax = 60_000;
/** `100 Continue`: the real answer follows. */
const interimStatus = 100;
const closed: Reply = { kind: 'closed' };

export class Wire {
  readonly #port: number;
  #socket: Socket | null = null;
  #received: Buffer = Buffer.alloc(0);
  #isHead = false;
  #settle: ((reply: Reply) => void) | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  async exchange({ parts, isHead, isLast, endsAtOnce }: Sending): Promise<Reply> {
    const socket = this.#socket ?? (await this.#open());
    if (socket === null) return closed;
    this.#received = Buffer.alloc(0);
    this.#isHead = isHead;
    // A limit for the answer, whose arrival clears it.
    const silence = setTimeout(() => this.#over({ kind: 'silent' }), silenceMsMax);
    const reply = await new Promise<Reply>(resolve => {
      this.#settle = resolve;
      void send(socket, parts, endsAtOnce);
    });
    clearTimeout(silence);
    const isKept = reply.kind === 'answer' && reply.headers.get('connection') !== 'close';
    if (isLast || endsAtOnce || !isKept) this.close();
    return reply;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Promise<Socket | null> {
    return new Promise(resolve => {
      const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
      this.#socket = socket;
      socket.on('connect', () => resolve(socket));
      socket.on('error', () => {});
      socket.on('data', data => {
        if (socket === this.#socket) this.#take(data);
      });
      socket.on('close', () => {
        resolve(null);
        if (socket !== this.#socket) return;
        this.#socket = null;
        this.#over(this.#answer(true) ?? closed);
      });
    });
  }

  #take(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    const answer = this.#settle === null ? null : this.#answer(false);
    if (answer) this.#over(answer);
  }

  #over(reply: Reply): void {
    const settle = this.#settle;
    this.#settle = null;
    settle?.(reply);
  }

  #answer(isEnd: boolean): Answer | null {
    const received = this.#received;
    const end = received.indexOf('\r\n\r\n');
    if (end < 0) return null;
    const lines = received.toString('latin1', 0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(lines[0]!)?.[1] ?? 0);
    const headers = new Map<string, string>();
    for (const line of lines.slice(1)) {
      const colon = line.indexOf(':');
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    const rest = received.subarray(end + 4);
    if (status === interimStatus) {
      this.#received = rest;
      return this.#answer(isEnd);
    }
    const whole = this.#body(status, headers, rest, isEnd);
    if (whole === null) return null;
    return { kind: 'answer', status, headers, body: whole.body, surplus: rest.length - whole.length };
  }

  /** The body at the beginning of `rest`, with the number of bytes that it took; null while it is incomplete. */
  #body(status: number, headers: ReadonlyMap<string, string>, rest: Buffer, isEnd: boolean): Part | null {
    if (this.#isHead || status === 304 || status === 204) return { body: rest.subarray(0, 0), length: 0 };
    if (headers.get('content-type') === 'text/event-stream') {
      this.close();
      return { body: rest.subarray(0, 0), length: rest.length };
    }
    const length = headers.get('content-length');
    if (length !== undefined) {
      return rest.length < Number(length) ? null : { body: rest.subarray(0, Number(length)), length: Number(length) };
    }
    if (headers.get('transfer-encoding') === 'chunked') return dechunked(rest);
    return isEnd ? { body: rest, length: rest.length } : null;
  }
}

type Part = { readonly body: Buffer; readonly length: number };

function dechunked(bytes: Buffer): Part | null {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (!(bytes.length >= end + 2)) return null;
    if (size === 0) return { body: Buffer.concat(chunks), length: end + 2 };
    chunks.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}

/** Sends each part in a packet of its own. */
async function send(socket: Socket, parts: readonly Buffer[], endsAtOnce: boolean): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed) return;
    socket.write(part);
    if (parts.length > 1) await new Promise(resume => setImmediate(resume));
  }
  if (endsAtOnce) socket.end();
}
