// Many packed values as two byte strings, which cost far fewer objects than a buffer for each value.

/** The values side by side; `ends` has the end of each, in four bytes, little-endian. */
export type StoredList = { readonly ends: Uint8Array; readonly all: Uint8Array };

/** Finds each value of a list by its end. */
export class PackedList {
  readonly count: number;
  readonly #ends: DataView;
  readonly #all: Uint8Array;

  constructor({ ends, all }: StoredList) {
    this.count = ends.length / 4;
    this.#ends = new DataView(ends.buffer, ends.byteOffset, ends.length);
    this.#all = all;
  }

  at(index: number): Uint8Array {
    const from = index === 0 ? 0 : this.#ends.getUint32(index * 4 - 4, true);
    return this.#all.subarray(from, this.#ends.getUint32(index * 4, true));
  }

  /** Views of all values. */
  values(): Uint8Array[] {
    return Array.from({ length: this.count }, (_, index) => this.at(index));
  }
}

/** Appends values to a list. */
export class ListBuilder {
  #all: Buffer;
  readonly #ends: number[] = [];
  #length = 0;

  /** `bytes`: how long the values will probably be together. */
  constructor(bytes: number) {
    this.#all = Buffer.allocUnsafeSlow(bytes);
  }

  get count(): number {
    return this.#ends.length;
  }

  add(value: Uint8Array): void {
    const end = this.#length + value.length;
    if (end > this.#all.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, 2 * this.#all.length));
      larger.set(this.#all.subarray(0, this.#length));
      this.#all = larger;
    }
    this.#all.set(value, this.#length);
    this.#length = end;
    this.#ends.push(end);
  }

  list(): StoredList {
    const ends = Buffer.allocUnsafeSlow(this.#ends.length * 4);
    for (let index = 0; index < this.#ends.length; index++) ends.writeUInt32LE(this.#ends[index]!, index * 4);
    return { ends, all: this.#all.subarray(0, this.#length) };
  }
}
