// Keeps many packed values as two byte strings. This needs far fewer objects than a buffer for each value.

/** `all` has the values one after the other. `ends` has the offset where each value ends, in four bytes, little-endian. */
export type StoredList = { readonly ends: Uint8Array; readonly all: Uint8Array };

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

  /** All values, not copied. */
  values(): Uint8Array[] {
    return Array.from({ length: this.count }, (_, index) => this.at(index));
  }
}

export class ListBuilder {
  #all: Buffer;
  readonly #ends: number[] = [];
  #length = 0;

  /** `bytes`: the expected total length of the values. */
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
