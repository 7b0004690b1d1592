// Keeps the end of a stream of unknown length, with secrets masked, and notes how much was cut.
import type { Mask } from './mask.ts';

export const tailBytesMax = 64 * 1024;

export class OutputTail {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #cut = 0;
  #mask: Mask | null = null;
  /** This many more bytes are kept, so that a secret across the cut is still complete. */
  #marginBytes = 0;

  constructor(mask: Mask | null = null) {
    this.hide(mask);
  }

  /** Sets the secrets to mask, also in text that has already arrived. */
  hide(mask: Mask | null): void {
    this.#mask = mask;
    this.#marginBytes = mask?.bytesMax ?? 0;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Small chunks are joined now and then, not each time.
    if (this.#bytes > 2 * (tailBytesMax + this.#marginBytes)) this.#trim();
  }

  /**
   * The text since the last call. Unless the stream has ended, an end that may be the beginning of a secret is kept back: it comes
   * with the text that follows it.
   */
  take(hasEnded = false): string {
    this.#trim();
    const joined = Buffer.concat(this.#chunks);
    const end = hasEnded || this.#mask === null ? joined.length : this.#mask.cutOf(joined);
    // Too little has come to tell the rest of a secret that was cut from other text.
    if (!hasEnded && this.#cut > 0 && end < this.#marginBytes) return '';
    const text = this.#show(joined.subarray(0, end));
    this.#chunks = end === joined.length ? [] : [Buffer.from(joined.subarray(end))];
    this.#bytes = joined.length - end;
    this.#cut = 0;
    return text;
  }

  /** The rest: nothing follows. */
  text(): string {
    return this.take(true);
  }

  #show(bytes: Buffer): string {
    const whole = this.#mask === null ? bytes : Buffer.from(this.#mask.text(bytes.toString()));
    // The rest of a secret that was cut can only be at the very beginning.
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
