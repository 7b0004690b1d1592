// Parses a long JSON array as it arrives, one element at a time.

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const arrayStart = 0x5b;
const arrayEnd = 0x5d;
const opening: readonly number[] = [arrayStart, 0x7b];
const closing: readonly number[] = [arrayEnd, 0x7d];
const spaces: readonly number[] = [0x20, 0x09, 0x0a, 0x0d];

/**
 * Parses the elements of the array in `body`, and yields them one by one. Throws a SyntaxError if the text is not a single, complete
 * array, or if an element is not JSON.
 */
export async function* elements(body: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const scan = new Scan();
  for await (const chunk of body) yield* scan.take(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  if (!scan.isOver) throw new SyntaxError('the array broke off');
}

/** Finds the end of each element by following nesting and strings, byte by byte. */
class Scan {
  isOver = false;
  #isEmpty = true;
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  /** The part of the current element that arrived in earlier chunks. */
  #begun: Buffer[] = [];

  *take(chunk: Buffer): Generator<unknown> {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#inText) {
        this.#text(byte);
      } else if (this.#depth === 0) {
        if (spaces.includes(byte)) continue;
        if (byte !== arrayStart || this.isOver) throw new SyntaxError('the text is not a single array');
        this.#depth = 1;
        from = at + 1;
      } else if (byte === quote) {
        this.#inText = true;
      } else if (opening.includes(byte)) {
        this.#depth++;
      } else if (closing.includes(byte) || (byte === comma && this.#depth === 1)) {
        const isEnd = byte !== comma && --this.#depth === 0;
        if (isEnd && byte !== arrayEnd) throw new SyntaxError('an array must end with a bracket');
        if (isEnd || byte === comma) yield* this.#element(chunk.subarray(from, at), isEnd);
        if (isEnd || byte === comma) from = at + 1;
        if (isEnd) this.isOver = true;
      }
    }
    if (!this.isOver) this.#begun.push(chunk.subarray(from));
  }

  #text(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#inText = false;
  }

  *#element(rest: Buffer, isLast: boolean): Generator<unknown> {
    const text = Buffer.concat([...this.#begun, rest]).toString('utf8');
    this.#begun = [];
    if (isLast && this.#isEmpty && text.trim() === '') return;
    this.#isEmpty = false;
    yield JSON.parse(text);
  }
}
