// Messages on the pipes between the ledger thread and a plugin host: length of the body (4, little endian) | kind (1) | body.
//
// Each message from the host begins with the host's key. Plugin code can write to every descriptor of its process, but does not get the
// key, so it cannot forge a message.

/** First the messages to the host, then the messages to the ledger thread. On the wire, a kind is its position in this list. */
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
 * A message to be sent. `more` yields the bytes after the head, piece by piece: each piece is read when the pipe has room for it. Each
 * call of `more` begins with the first piece.
 */
export type Message = { readonly head: Uint8Array; readonly more?: () => Iterable<Uint8Array> };

/** The length of a host's key. A random key of this length cannot be guessed. */
export const keyBytes = 16;
const noKey = Buffer.alloc(0);
const headBytes = 5;
/** The maximum length of a body. A message with a longer body is invalid. */
const bodyBytesMax = 2 ** 30;
const numbers = Object.fromEntries(kinds.map((kind, i) => [kind, i])) as Record<MessageKind, number>;

/**
 * Allocates a message for a body of `bodyBytes`, which starts at offset `bodyAt`. The message has no room for the last `apart`
 * bytes of the body, because they are sent separately.
 */
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

/** Cuts a stream of chunks into messages. Each message must begin with the key. A body that lies within a chunk is a view of the chunk. */
export class MessageReader {
  readonly #key: Buffer;
  readonly #take: (kind: MessageKind, body: Buffer) => void;
  /** The incomplete key and head at the end of the last chunk. */
  #rest: Buffer | null = null;
  /** An incomplete body, which spans several chunks. */
  #body: Buffer | null = null;
  #filled = 0;
  #kind: MessageKind = 'ready';

  constructor(take: (kind: MessageKind, body: Buffer) => void, key: Buffer = noKey) {
    this.#key = key;
    this.#take = take;
  }

  /** Takes the next chunk of the stream. Throws if the bytes are not a message; after that, no chunk may be pushed. */
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
