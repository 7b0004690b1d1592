// Keeps the end of a stream of unknown length, with secrets masked, and counts the bytes that were cut.
import type { Mask } from './mask.ts';

export const tailBytesMax = 64 * 1024;

export class OutputTail {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #cut = 0;
  #mask: Mask | null = null;
  /** The number of additional bytes kept, so that a secret across the cut is complete. */
  #marginBytes = 0;

  constructor(mask: Mask | null = null) {
    this.hide(mask);
  }

  /** Sets the secrets to mask, including in text that has already arrived. */
  hide(mask: Mask | null): void {
    this.#mask = mask;
    this.#marginBytes = mask?.bytesMax ?? 0;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Small chunks are joined from time to time, instead of each time.
    if (this.#bytes > 2 * (tailBytesMax + this.#marginBytes)) this.#trim();
  }

  /**
   * The text since the last call. If the stream has not ended, a possible beginning of a secret at the end is kept back, and comes with
   * the text after it.
   */
  take(hasEnded = false): string {
    this.#trim();
    const joined = Buffer.concat(this.#chunks);
    const end = hasEnded || this.#mask === null ? joined.length : this.#mask.cutOf(joined);
    // There is not enough text yet to distinguish the rest of a cut secret from other text.
    if (!hasEnded && this.#cut > 0 && end < this.#marginBytes) return '';
    const text = this.#show(joined.subarray(0, end));
    this.#chunks = end === joined.length ? [] : [Buffer.from(joined.subarray(end))];
    this.#bytes = joined.length - end;
    this.#cut = 0;
    return text;
  }

  /** The remaining text at the end of the stream. */
  text(): string {
    return this.take(true);
  }

  #show(bytes: Buffer): string {
    const whole = this.#mask === null ? bytes : Buffer.from(this.#mask.text(bytes.toString()));
    // The rest of a cut secret can only be at the beginning.
    const kept = this.#cut === 0 ? whole : whole.subarray(this.#marginBytes);
    const text = kept.subarray(-tailBytesMax).toString();
    const cut = this.#cut + Math.max(0, whole.length - tailBytesMax);
    return cut === 0 ? text : `[${cut} bytes were cut]\n${text}`;
  }

  #trim(): void {
    const over = this.#bytes - tailBytesMax - this.#marginBytes;
    if (over <= 0) return;
    this.#chunks = [Buffer.from(Buffer.concat(this.#chunks).subarray(over))];
    this.#bytes -= over;
    this.#cut += over;
  }
}
