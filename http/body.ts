// Collects the chunks of a body. Each body has a limit. All bodies of a listener share a second limit, and the bodies of batches may use only a
// part of it.

const firstBytes = 4096;

/**
 * The maximum memory for all bodies that are arriving on one listener, in bytes. Beyond it the oldest bodies are refused, so slow senders can
 * neither exhaust memory nor block other callers. A single body may exceed the limit.
 */
export const bodiesBytesMax = 256 * 2 ** 20;
/** The part of `bodiesBytesMax` that batches may hold. The body of a batch counts until its payloads have been read. */
export const batchBodiesBytesMax = bodiesBytesMax / 2;

/** The memory that several bodies hold together. */
export class BodyRoom {
  readonly bytesMax: number;
  readonly #whole: BodyRoom | null;
  #heldBytes = 0;
  /** The bodies that hold memory, oldest first. */
  readonly #bodies = new Set<RequestBody>();

  /** `whole`: the room of which this room is a part. */
  constructor(bytesMax: number, whole: BodyRoom | null = null) {
    this.bytesMax = bytesMax;
    this.#whole = whole;
  }

  /** Reserves memory for a body. If the total is too large, the oldest other bodies are refused. */
  take(body: RequestBody, bytes: number): void {
    this.#bodies.add(body);
    this.#heldBytes += bytes;
    for (const other of this.#bodies) {
      if (this.#heldBytes <= this.bytesMax) break;
      if (other !== body) other.giveWay();
    }
    this.#whole?.take(body, bytes);
  }

  give(body: RequestBody, bytes: number): void {
    if (!this.#bodies.delete(body)) return;
    this.#heldBytes -= bytes;
    this.#whole?.give(body, bytes);
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

  /** Copies the chunk, because the server reuses its memory. `too_large`: the body would exceed its limit, and the chunk is not copied. */
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

  /** Frees the memory of this body because another body needs it, and calls `onGivenWay`, which refuses the request of this body. */
  giveWay(): void {
    this.release();
    this.#onGivenWay();
  }

  // The buffer at least doubles when it grows, up to the limit of the body. A list of chunks would cost an object for each byte of a body that
  // arrives byte by byte.
  #grow(length: number): void {
    const held = this.#buffer?.length ?? 0;
    const size = Math.min(Math.max(length, firstBytes, 2 * held), Math.max(this.#bytesMax, length));
    this.#room.take(this, size - held);
    const buffer = Buffer.allocUnsafeSlow(size);
    if (this.#buffer !== null) buffer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = buffer;
  }
}
