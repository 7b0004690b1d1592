// Memory in which the text of a scrape is written. Ids and most numbers are written digit by digit, without intermediate strings.
import { copyBytes } from '../../runtime/bytes.ts';

const zero = 0x30;
const hexDigits = Buffer.from('0123456789abcdef');
const point = Buffer.from('.');
const dash = Buffer.from('-');
/** The offsets in an id before which its text form has a dash. */
const dashes: readonly number[] = [4, 6, 8, 10];
/** The text of an integer, or of one byte of an id, takes no more bytes than this. */
const digitsMax = 16;
/** Integers below this limit are exact, and JavaScript writes them without an exponent. */
const integersMax = 1e15;
const bytesMin = 65_536;

export class TextBuffer {
  #bytes: Buffer;
  #end = 0;

  /** `expected`: an estimate of the text's length in bytes. */
  constructor(expected: number) {
    this.#bytes = Buffer.allocUnsafeSlow(expected + bytesMin);
  }

  get length(): number {
    return this.#end;
  }

  /** The text from this offset on. The bytes are valid until more text is added. */
  from(offset: number): Buffer {
    return this.#bytes.subarray(offset, this.#end);
  }

  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#end = copyBytes(this.#bytes, this.#end, bytes);
  }

  addText(text: string): void {
    this.#reserve(3 * text.length);
    this.#end += this.#bytes.write(text, this.#end);
  }

  /** Adds a number as JavaScript writes it, but infinity as Prometheus writes it. */
  addNumber(value: number): void {
    if (isPlain(value)) this.#addInteger(value);
    else if (Number.isFinite(value)) this.addText(String(value));
    else this.addText(Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf');
  }

  /** Adds a duration in µs as seconds. */
  addSeconds(us: number): void {
    if (!isPlain(us)) {
      this.addNumber(us / 1e6);
      return;
    }
    this.#addInteger(Math.floor(us / 1e6));
    let decimals = us % 1e6;
    if (decimals === 0) return;
    let places = 6;
    for (; decimals % 10 === 0; decimals /= 10) places--;
    this.add(point);
    this.#addDigits(decimals, places);
  }

  /** Adds a time in µs since the epoch as seconds, with three decimals. */
  addTime(us: number): void {
    const ms = Math.round(us / 1000);
    this.#addInteger(Math.floor(ms / 1000));
    this.add(point);
    this.#addDigits(ms % 1000, 3);
  }

  /** Adds a job id as `formatId` writes it. */
  addId(id: Uint8Array): void {
    for (let at = 0; at < id.length; at++) {
      if (dashes.includes(at)) this.add(dash);
      this.#reserve(digitsMax);
      this.#bytes[this.#end++] = hexDigits[id[at]! >> 4]!;
      this.#bytes[this.#end++] = hexDigits[id[at]! & 0xf]!;
    }
  }

  #addInteger(value: number): void {
    let places = 1;
    for (let limit = 10; limit <= value; limit *= 10) places++;
    this.#addDigits(value, places);
  }

  #addDigits(value: number, places: number): void {
    this.#reserve(digitsMax);
    const bytes = this.#bytes;
    let rest = value;
    for (let at = this.#end + places - 1; at >= this.#end; at--) {
      const next = Math.floor(rest / 10);
      bytes[at] = zero + rest - next * 10;
      rest = next;
    }
    this.#end += places;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const longer = Buffer.allocUnsafeSlow(2 * (this.#end + bytes));
    this.#bytes.copy(longer, 0, 0, this.#end);
    this.#bytes = longer;
  }
}

/** Whether the number is an integer that is written without sign and exponent. */
function isPlain(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < integersMax;
}
