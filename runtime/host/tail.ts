// The end of a stream of unknown length, with a note of what was cut.

export const tailBytesMax = 64 * 1024;

export class Tail {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #cut = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Small chunks are joined now and then, not each time.
    if (this.#bytes > 2 * tailBytesMax) this.#trim();
  }

  text(): string {
    this.#trim();
    const text = Buffer.concat(this.#chunks).toString();
    return this.#cut === 0 ? text : `[${this.#cut} bytes were cut]\n${text}`;
  }

  #trim(): void {
    const over = this.#bytes - tailBytesMax;
    if (over <= 0) return;
    this.#chunks = [Buffer.from(Buffer.concat(this.#chunks).subarray(over))];
    this.#bytes -= over;
    this.#cut += over;
  }
}
