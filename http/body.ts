// Collects a body while it arrives, never holding more than its limit, nor all bodies together more than theirs.

const firstBytes = 4096;

/**
 * What the bodies that arrive in pieces may hold together, on one listener. With more, the oldest of them gives way: senders that
 * bring many bodies slowly, without being known yet, neither fill more memory than this nor keep others out. One body alone may be larger.
 */
export const bodiesBytesMax = 128 * 2 ** 20;

/** The bytes that bodies of one listener hold now. */
export class BodyRoom {
  #heldBytes = 0;
  /** The oldest first. */
  readonly #bodies = new Set<Body>();

  /** Makes room for a body to hold so many bytes more, at the cost of older ones. */
  take(body: Body, bytes: number): void {
    this.#bodies.add(body);
    this.#heldBytes += bytes;
    for (const other of this.#bodies) {
      if (this.#heldBytes <= bodiesBytesMax) return;
      if (other !== body) other.giveWay();
    }
  }

  give(body: Body, bytes: number): void {
    if (this.#bodies.delete(body)) this.#heldBytes -= bytes;
  }
}

export class Body {
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

  /** Copies the chunk, whose memory is used again. What does not fit is not taken. */
  append(chunk: Uint8Array): 'taken' | 'too_large' {
    const length = this.#length + chunk.length;
    if (length > this.#bytesMax) return 'too_large';
    if (this.#buffer === null || length > this.#buffer.length) this.#grow(length);
    this.#buffer!.set(chunk, this.#length);
    this.#length = length;
    return 'taken';
  }

  /** What has come so far, as a view. */
  bytes(): Buffer {
    return this.#buffer === null ? Buffer.alloc(0) : this.#buffer.subarray(0, this.#length);
  }

  /** Gives its room back; it holds nothing any more. */
  release(): void {
    this.#room.give(this, this.#buffer?.length ?? 0);
    this.#buffer = null;
    this.#length = 0;
  }

  /** Makes room for a newer one. */
  giveWay(): void {
    this.release();
    this.#onGivenWay();
  }

  // Doubled, not chained: a body that comes byte by byte costs no object a byte.
  #grow(length: number): void {
    const held = this.#buffer?.length ?? 0;
    const size = Math.min(Math.max(length, firstBytes, 2 * held), Math.max(this.#bytesMax, length));
    this.#room.take(this, size - held);
    const buffer = Buffer.allocUnsafeSlow(size);
    if (this.#buffer !== null) buffer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = buffer;
  }
}
