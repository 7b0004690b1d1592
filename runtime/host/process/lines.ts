// Cuts a stream of bytes into lines of text.

const lineEnd = 0x0a;

export class LineReader {
  readonly #bytesMax: number;
  readonly #isCut: boolean;
  #rest: Buffer[] = [];
  #restBytes = 0;

  /** `bytesMax`: the maximum length of a line. `isCut`: false if the whole stream is one text instead of lines. */
  constructor(bytesMax: number, isCut = true) {
    this.#bytesMax = bytesMax;
    this.#isCut = isCut;
  }

  /** Adds a chunk of the stream. Returns the lines that are complete now, except blank ones; null if a line is too long. */
  push(chunk: Buffer): string[] | null {
    const end = this.#isCut ? chunk.lastIndexOf(lineEnd) : -1;
    if (end < 0) {
      this.#rest.push(chunk);
      this.#restBytes += chunk.length;
      return this.#restBytes > this.#bytesMax ? null : [];
    }
    const whole = chunk.subarray(0, end);
    const bytes = this.#rest.length === 0 ? whole : Buffer.concat([...this.#rest, whole]);
    const rest = chunk.subarray(end + 1);
    this.#rest = rest.length === 0 ? [] : [rest];
    this.#restBytes = rest.length;
    const lines = bytes.toString().split('\n');
    if (bytes.length > this.#bytesMax && lines.some(line => Buffer.byteLength(line) > this.#bytesMax)) return null;
    return lines.filter(isNotBlank);
  }

  /** Must be called at the end of the stream. Returns the text after the last line end, if it is not blank. */
  end(): string[] {
    return [Buffer.concat(this.#rest.splice(0)).toString()].filter(isNotBlank);
  }
}

function isNotBlank(line: string): boolean {
  return line.trim() !== '';
}
