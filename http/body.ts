// Collects a body while it arrives, never holding more than its limit.

const firstBytes = 4096;

export class Body {
  readonly #bytesMax: number;
  #buffer: Buffer | null = null;
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Copies the chunk, whose memory is used again. False: it does not fit any more. */
  append(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (length > this.#bytesMax) return false;
    if (this.#buffer === null || length > this.#buffer.length) this.#grow(length);
    this.#buffer!.set(chunk, this.#length);
    this.#length = length;
    return true;
  }

  /** What has come so far, as a view. */
  bytes(): Buffer {
    return this.#buffer === null ? Buffer.alloc(0) : this.#buffer.subarray(0, this.#length);
  }

  // Doubled, not chained: a body that comes byte by byte costs no object a byte.
  #grow(length: number): void {
    const size = Math.min(
      Math.max(length, firstBytes, 2 * (this.#buffer?.length ?? 0)),
      Math.max(this.#bytesMax, length),
    );
    const buffer = Buffer.allocUnsafeSlow(size);
    if (this.#buffer !== null) buffer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = buffer;
  }
}
