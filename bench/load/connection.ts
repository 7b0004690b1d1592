// An HTTP/1.1 connection over a raw socket. It has one request at a time, and does as little work per response as
// possible.
import { connect, type Socket } from 'node:net';
import { chunkedBody } from './chunked.ts';

/** `body` is a view of received bytes, and is valid only during the call. */
export type OnResponse = (status: number, body: Buffer) => void;

const headEnd = Buffer.from('\r\n\r\n');
const lengthName = Buffer.from('Content-Length: ');
const chunkedName = Buffer.from('Transfer-Encoding: chunked');
const statusAt = 'HTTP/1.1 '.length;
/** A response with this status has no body, and may lack Content-Length. */
const notModified = 304;
const zero = 48;
const nine = 57;

export class Connection {
  readonly #socket: Socket;
  #waiting: OnResponse | null = null;
  #onFailure: (reason: string) => void = () => {};
  /** The beginning of an incomplete response, and its length. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The length of the incomplete response with its head; 0: not known. */
  #wantedBytes = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', chunk => this.#take(chunk));
    socket.on('close', () => this.#fail('the connection was closed'));
    socket.on('error', error => this.#fail(error.message));
  }

  static open(host: string, port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
    });
  }

  onFailure(listener: (reason: string) => void): void {
    this.#onFailure = listener;
  }

  send(request: Buffer, onResponse: OnResponse): void {
    this.#waiting = onResponse;
    this.#socket.write(request);
  }

  /** Sends a request. Resolves with the status and a copy of the body. */
  ask(request: Buffer): Promise<{ status: number; body: Buffer }> {
    return new Promise((resolve, reject) => {
      this.#onFailure = reason => reject(new Error(reason));
      this.send(request, (status, body) => resolve({ status, body: Buffer.from(body) }));
    });
  }

  close(): void {
    this.#onFailure = () => {};
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < this.#wantedBytes) return;
    const bytes = this.#held.length === 1 ? chunk : Buffer.concat(this.#held);
    this.#hold([]);
    const head = bytes.indexOf(headEnd);
    const bodyAt = head + headEnd.length;
    const status = (bytes[statusAt]! - zero) * 100 + (bytes[statusAt + 1]! - zero) * 10 + bytes[statusAt + 2]! - zero;
    const length = head < 0 ? Number.POSITIVE_INFINITY : status === notModified ? 0 : contentLength(bytes, head);
    const end = bodyAt + length;
    const chunked = length < 0 ? chunkedBody(bytes, bodyAt) : null;
    if (chunked === null && (length < 0 || bytes.length < end)) {
      this.#hold([bytes], Number.isFinite(end) ? end : 0);
      return;
    }
    const onResponse = this.#waiting;
    this.#waiting = null;
    if (!onResponse || (chunked === null && bytes.length > end)) this.#fail('a response came without a request');
    else onResponse(status, chunked ?? bytes.subarray(bodyAt, end));
  }

  #hold(held: Buffer[], wantedBytes = 0): void {
    this.#held = held;
    this.#heldBytes = held[0]?.length ?? 0;
    this.#wantedBytes = wantedBytes;
  }

  #fail(reason: string): void {
    this.#socket.destroy();
    const tell = this.#onFailure;
    this.#onFailure = () => {};
    tell(reason);
  }
}

/** The length of the body in bytes; -1 if the body is chunked. */
function contentLength(bytes: Buffer, head: number): number {
  const at = bytes.indexOf(lengthName);
  const chunkedAt = at < 0 ? bytes.indexOf(chunkedName) : -1;
  if (chunkedAt >= 0 && chunkedAt < head) return -1;
  if (at < 0 || at > head) throw new Error(`a response without Content-Length: ${bytes.toString('latin1', 0, head)}`);
  let length = 0;
  for (let i = at + lengthName.length; ; i++) {
    const c = bytes[i]!;
    if (c < zero || c > nine) return length;
    length = length * 10 + c - zero;
  }
}
