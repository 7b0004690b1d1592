// Collects the chunks of a body. Each body has a limit, and all bodies of a listener share a second limit.

const firstBytes = 4096;

/**
 * The maximum memory for all bodies that are arriving on one listener, in bytes. The bodies of batches have a separate limit of the same size,
 * and count until their payloads have been read. Beyond a limit the oldest bodies are refused, so slow senders can neither exhaust memory nor
 * block other callers. A single body may exceed the limit.
 */
export const bodiesBytesMax = 128 * 2 ** 20;

/** The memory that several bodies hold together. */
export class BodyRoom {
  #heldBytes = 0;
  /** The bodies that hold memory, oldest first. */
  readonly #bodies = new Set<RequestBody>();

  /** Reserves memory for a body. If the total is too large, the oldest other bodies are refused. */
  take(body: RequestBody, bytes: number): void {
    this.#bodies.add(body);
    this.#heldBytes += bytes;
    for (const other of this.#bodies) {
      if (this.#heldBytes <= bodiesBytesMax) return;
      if (other !== body) other.giveWay();
    }
  }

  give(body: RequestBody, bytes: number): void {
    if (this.#bodies.delete(body)) this.#heldBytes -= bytes;
  }
}

export class RequestBody {
  readonly #bytesMax: number;
  readonly #room: BodyRoom;
  readonly #onGivenWay: () => void;
  #buffer: Buffer | null = null;
  #length = 0;

  constructor(bytesMax: number, room: BodyRoom, onGivenWay: () => void) {
    this.#bytesMax = bytesMax;
    this.#room = room;
    this.#onGivenWay = onGivenWay;
  }

  /** Copies the chunk, because the server reuses its memory. `too_large`: the chunk would exceed the limit of the body, and is not copied. */
  append(chunk: Uint8Array): 'taken' | 'too_large' {
    const length = this.#length + chunk.length;
    if (length > this.#bytesMax) return 'too_large';
    if (this.#buffer === null || length > this.#buffer.length) this.#grow(length);
    this.#buffer!.set(chunk, this.#length);
    this.#length = length;
    return 'taken';
  }

  /** Returns the bytes that have arrived, without copying them. */
  bytes(): Buffer {
    return this.#buffer === null ? Buffer.alloc(0) : this.#buffer.subarray(0, this.#length);
  }

  release(): void {
    this.#room.give(this, this.#buffer?.length ?? 0);
    this.#buffer = null;
    this.#length = 0;
  }

  /** Frees the memory of this body for another body, and calls `onGivenWay`. */
  giveWay(): void {
    this.release();
    this.#onGivenWay();
  }

  // The buffer doubles as it grows. A list of chunks would cost an object for each byte of a body that arrives byte by byte.
  #grow(length: number): void {
    const held = this.#buffer?.length ?? 0;
    const size = Math.min(Math.max(length, firstBytes, 2 * held), Math.max(this.#bytesMax, length));
    this.#room.take(this, size - held);
    const buffer = Buffer.allocUnsafeSlow(size);
    if (this.#buffer !== null) buffer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = buffer;
  }
}
