// Finds where a stream of bytes can be cut so that no spelling of a secret is divided.
import { type Form, SpellingSearch } from './spelling-search.ts';

const headBytes = 4;

export class StreamSearch {
  /** Searches for the spellings as bytes, each byte as a character. */
  readonly #search: SpellingSearch;
  readonly #sorted: readonly string[];
  /** The first bytes of each spelling, as a number. */
  readonly #heads: ReadonlySet<number>;
  readonly #bytesMax: number;

  /** `search`: the search for these forms in texts. */
  constructor(forms: readonly Form[], search: SpellingSearch) {
    const inBytes = forms.map(form => {
      const bytes = Buffer.from(form.text);
      return bytes.length === form.text.length ? form : { ...form, text: latin1(bytes) };
    });
    const texts = inBytes.map(({ text }) => text);
    this.#search = inBytes.every((form, i) => form === forms[i]) ? search : new SpellingSearch(inBytes);
    this.#sorted = texts.toSorted();
    const long = texts.filter(({ length }) => length > headBytes);
    this.#heads = new Set(long.map(text => Buffer.from(text.slice(0, headBytes), 'latin1').readInt32BE()));
    this.#bytesMax = texts.reduce((most, { length }) => Math.max(most, length), 0);
  }

  /**
   * A position that no spelling crosses. If the bytes end with the possible beginning of a spelling, the position is at this beginning or earlier.
   */
  cutOf(bytes: Buffer): number {
    const text = latin1(bytes);
    let cut = this.#openingOf(bytes, text);
    if (cut === text.length) return cut;
    for (const { at, end } of this.#search.hits(text).sort((a, b) => b.end - a.end)) {
      if (end <= cut) break;
      cut = Math.min(cut, at);
    }
    return cut;
  }

  /**
   * The lowest offset from which the rest of the bytes is the beginning of a longer spelling; `bytes.length` if there is no such offset. `text`:
   * the bytes as characters.
   */
  #openingOf(bytes: Buffer, text: string): number {
    const { length } = bytes;
    for (let at = Math.max(0, length - this.#bytesMax + 1); at < length; at++) {
      if (at + headBytes <= length && !this.#heads.has(bytes.readInt32BE(at))) continue;
      if (this.#begins(text.slice(at))) return at;
    }
    return length;
  }

  /** Whether a longer spelling begins with this text. In the order, such spellings come directly after the text. */
  #begins(text: string): boolean {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#sorted[middle]! <= text) low = middle + 1;
      else high = middle;
    }
    return this.#sorted[low]?.startsWith(text) ?? false;
  }
}

/** The bytes, each as a character. */
export function latin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
