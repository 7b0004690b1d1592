// Collects a body while it arrives, never holding more than its limit, nor all bodies together more than theirs.

const firstBytes = 4096;

/**
 * What the bodies that arrive in pieces may hold together, on one listener: who sends many of them slowly, without being known yet,
 * fills no more memory than this. One that is alone may be larger.
 */
export const bodiesBytesMax = 128 * 2 ** 20;

/** The bytes that bodies of one listener hold now. */
export class BodyRoom {
  #heldBytes = 0;

  /** Trades so many bytes for more. False: there is no room for that. */
  grow(fromBytes: number, toBytes: number): boolean {
    const others = this.#heldBytes - fromBytes;
    if (others > 0 && others + toBytes > bodiesBytesMax) return false;
    this.#heldBytes = others + toBytes;
    return true;
  }

  give(bytes: number): void {
    this.#heldBytes -= bytes;
  }
}

export class Body {
  readonly #bytesMax: number;
  readonly #room: BodyRoom;
  #buffer: Buffer | null = null;
  #length = 0;

  constructor(bytesMax: number, room: BodyRoom) {
    this.#bytesMax = bytesMax;
    this.#room = room;
  }

  /** Copies the chunk, whose memory is used again. What does not fit is not taken. */
  append(chunk: Uint8Array): 'taken' | 'too_large' | 'no_room' {
    const length = this.#length + chunk.length;
    if (length > this.#bytesMax) return 'too_large';
    if ((this.#buffer === null || length > this.#buffer.length) && !this.#grow(length)) return 'no_room';
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
    this.#room.give(this.#buffer?.length ?? 0);
    this.#buffer = null;
    this.#length = 0;
  }

  // Doubled, not chained: a body that comes byte by byte costs no object a byte.
  #grow(length: number): boolean {
    const held = this.#buffer?.length ?? 0;
    const size = Math.min(Math.max(length, firstBytes, 2 * held), Math.max(this.#bytesMax, length));
    if (!this.#room.grow(held, size)) return false;
    const buffer = Buffer.allocUnsafeSlow(size);
    if (this.#buffer !== null) buffer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = buffer;
    return true;
  }
}
