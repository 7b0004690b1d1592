// Messages on the pipe between the ledger thread and a plugin host: length (4, little endian) | kind (1) | body.
//
// Messages from the host begin with its key. Plugin code can write to every descriptor of its process, but is not given the key.

/** First the messages to the host, then those to the ledger thread. */
const kinds = [
  'configure',
  'frame',
  'stop',
  'cancel',
  'ping',
  'ready',
  'outcomes',
  'returned',
  'cancelling',
  'replaced',
  'log',
  'pong',
] as const;
export type MessageKind = (typeof kinds)[number];

/**
 * A message to be sent. The bytes after its head are read when the pipe has room for them. Each call of `more` reads them from the
 * beginning.
 */
export type Message = { readonly head: Uint8Array; readonly more?: () => Iterable<Uint8Array> };

/** The length of a host's key, which cannot be guessed. */
export const keyBytes = 16;
const noKey = Buffer.alloc(0);
const headBytes = 5;
/** The maximum length of a body. The outcomes of a frame are never as long. */
const bodyBytesMax = 2 ** 30;
const numbers = Object.fromEntries(kinds.map((kind, i) => [kind, i])) as Record<MessageKind, number>;

/** A message with room for a body of `bodyBytes`, which starts at the returned offset. The last `apart` bytes are sent separately. */
export function allocateMessage(kind: MessageKind, bodyBytes: number, apart = 0): { message: Buffer; bodyAt: number } {
  const message = Buffer.allocUnsafe(headBytes + bodyBytes - apart);
  message.writeUInt32LE(bodyBytes, 0);
  message[4] = numbers[kind];
  return { message, bodyAt: headBytes };
}

export function encodeMessage(kind: MessageKind, body: Uint8Array): Buffer {
  const { message, bodyAt } = allocateMessage(kind, body.length);
  message.set(body, bodyAt);
  return message;
}

/** Cuts a stream of chunks into messages, each of which begins with the key. Bodies that lie within a chunk are views of it. */
export class MessageReader {
  readonly #key: Buffer;
  readonly #take: (kind: MessageKind, body: Buffer) => void;
  /** The incomplete head at the end of the last chunk. */
  #rest: Buffer | null = null;
  /** An incomplete body, which spans several chunks. */
  #body: Buffer | null = null;
  #filled = 0;
  #kind: MessageKind = 'ready';

  constructor(take: (kind: MessageKind, body: Buffer) => void, key: Buffer = noKey) {
    this.#key = key;
    this.#take = take;
  }

  /** Throws if the bytes are not a message; nothing can be read after them. */
  push(next: Buffer): void {
    const chunk = this.#rest === null ? next : Buffer.concat([this.#rest, next]);
    this.#rest = null;
    let at = 0;
    if (this.#body !== null) {
      at = chunk.copy(this.#body, this.#filled);
      this.#filled += at;
      if (this.#filled < this.#body.length) return;
      const body = this.#body;
      this.#body = null;
      this.#take(this.#kind, body);
    }
    for (const key = this.#key; at < chunk.length; ) {
      const known = Math.min(key.length, chunk.length - at);
      if (chunk.compare(key, 0, known, at, at + known) !== 0) throw new RangeError('a message has the wrong key');
      if (chunk.length - at < key.length + headBytes) break;
      at += key.length;
      const bytes = chunk.readUInt32LE(at);
      const kind = kinds[chunk[at + 4]!];
      if (kind === undefined) throw new RangeError(`unknown message type ${chunk[at + 4]}`);
      if (bytes > bodyBytesMax) throw new RangeError(`a message has ${bytes} bytes; the limit is ${bodyBytesMax}`);
      at += headBytes;
      if (chunk.length - at >= bytes) {
        this.#take(kind, chunk.subarray(at, at + bytes));
        at += bytes;
      } else {
        this.#kind = kind;
        this.#body = Buffer.allocUnsafeSlow(bytes);
        this.#filled = chunk.copy(this.#body, 0, at);
        return;
      }
    }
    if (at < chunk.length) this.#rest = chunk.subarray(at);
  }
}
