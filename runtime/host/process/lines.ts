// Cuts a stream of bytes into lines of text.

const lineEnd = 0x0a;

export class LineReader {
  readonly #bytesMax: number;
  readonly #isCut: boolean;
  #rest: Buffer[] = [];
  #restBytes = 0;

  /** The maximum length of a line is `bytesMax`. `isCut` false: the whole stream is one text, whatever lines it has. */
  constructor(bytesMax: number, isCut = true) {
    this.#bytesMax = bytesMax;
    this.#isCut = isCut;
  }

  /** The complete lines, except blank ones. Null: a line is too long. */
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

  /** At the end of the stream: the last line, if it has no line end. */
  end(): string[] {
    return [Buffer.concat(this.#rest.splice(0)).toString()].filter(isNotBlank);
  }
}

function isNotBlank(line: string): boolean {
  return line.trim() !== '';
}
