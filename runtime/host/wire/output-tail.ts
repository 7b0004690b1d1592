// Keeps the end of a stream of unknown length, masks secrets in it, and counts the bytes that were cut off.
import type { Mask } from './mask.ts';

export const tailBytesMax = 64 * 1024;

export class OutputTail {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #cut = 0;
  #mask: Mask | null = null;
  /** The number of bytes kept before the last `tailBytesMax`, so that a secret that the limit would cut is complete, and can be masked. */
  #marginBytes = 0;

  constructor(mask: Mask | null = null) {
    this.hide(mask);
  }

  /** Sets the mask for all text that has not been taken yet. */
  hide(mask: Mask | null): void {
    this.#mask = mask;
    this.#marginBytes = mask?.bytesMax ?? 0;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // The chunks are joined and cut only from time to time, not for each chunk.
    if (this.#bytes > 2 * (tailBytesMax + this.#marginBytes)) this.#trim();
  }

  /**
   * Takes the text since the last call. If the stream has not ended and the text ends with the possible beginning of a secret, that
   * beginning is kept for the next call.
   */
  take(hasEnded = false): string {
    this.#trim();
    if (this.#bytes === 0) return '';
    const joined = Buffer.concat(this.#chunks);
    const end = hasEnded || this.#mask === null ? joined.length : this.#mask.cutOf(joined);
    // After a cut, `#show` drops the first `#marginBytes`, which may contain the end of a secret. A shorter text waits for the next call.
    if (!hasEnded && this.#cut > 0 && end < this.#marginBytes) return '';
    const text = this.#show(joined.subarray(0, end));
    this.#chunks = end === joined.length ? [] : [Buffer.from(joined.subarray(end))];
    this.#bytes = joined.length - end;
    this.#cut = 0;
    return text;
  }

  /** Takes the remaining text at the end of the stream. */
  text(): string {
    return this.take(true);
  }

  #show(bytes: Buffer): string {
    const whole = this.#mask === null ? bytes : Buffer.from(this.#mask.text(bytes.toString()));
    // If a secret was cut, its end is within the first `#marginBytes`. So these bytes are dropped.
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
