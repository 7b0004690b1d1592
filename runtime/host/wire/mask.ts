// A mask replaces each secret in the output of a plugin by `[SECRET:name]`.
import { unpack } from '../../packing.ts';
import { spellingsOf } from './spellings.ts';

/** A spelling of a secret (spellings.ts), and its replacement. */
type Form = { readonly text: string; readonly mark: string };
type Hit = { readonly at: number; end: number; readonly mark: string };

export class Mask {
  /** The spellings of all secrets, the longest first. */
  readonly #forms: readonly Form[];
  readonly #numbers: ReadonlyMap<string, string>;
  /** The spellings as bytes. Created when a stream is first cut. */
  #streamed: readonly Buffer[] | null = null;
  /** The length of the shortest spelling, in characters. */
  readonly #charsMin: number;
  /** The length of the longest spelling, in bytes. */
  readonly bytesMax: number;

  constructor(secrets: Iterable<readonly [name: string, value: string]>) {
    const marks = new Map<string, string>();
    const numbers = new Map<string, string>();
    for (const [name, value] of secrets) {
      const mark = `[SECRET:${name}]`;
      for (const text of spellingsOf(value)) if (text !== '' && !marks.has(text)) marks.set(text, mark);
      if (String(Number(value)) === value) numbers.set(value, mark);
    }
    this.#forms = Array.from(marks, ([text, mark]) => ({ text, mark })).sort((a, b) => b.text.length - a.text.length);
    this.#numbers = numbers;
    this.#charsMin = this.#forms.at(-1)?.text.length ?? Number.POSITIVE_INFINITY;
    this.bytesMax = this.#forms.reduce((most, { text }) => Math.max(most, Buffer.byteLength(text)), 0);
  }

  /** The mask of a frame's packed secrets. The last mask is cached, because consecutive processes are often of the same instance. */
  static of(packed: Uint8Array): Mask {
    if (!Mask.#last || Buffer.compare(Mask.#last.packed, packed) !== 0) {
      const mask = new Mask(Object.entries(unpack<{ [name: string]: string }>(packed)));
      Mask.#last = { packed: Buffer.from(packed), mask };
    }
    return Mask.#last.mask;
  }

  static #last: { readonly packed: Buffer; readonly mask: Mask } | null = null;

  /** Masks a text from left to right, at each position with the longest spelling. Overlapping spellings are masked, too. */
  text(text: string): string {
    // A text that is shorter than every spelling contains no spelling.
    if (text.length < this.#charsMin) return text;
    const hits: Hit[] = [];
    for (const form of this.#forms) if (form.text.length <= text.length) addHits(form, text, hits);
    if (hits.length === 0) return text;
    hits.sort((a, b) => a.at - b.at || b.end - a.end);
    let masked = '';
    let end = 0;
    let before = '';
    for (const hit of hits) {
      if (hit.end <= end) continue;
      if (hit.at >= end) masked += text.slice(end, hit.at);
      if (hit.at >= end || hit.mark !== before) masked += hit.mark;
      before = hit.mark;
      end = hit.end;
    }
    return masked + text.slice(end);
  }

  /**
   * A position at which an unfinished stream can be cut: no secret crosses this position. If the bytes end with the possible beginning of a
   * secret, the position is at this beginning or earlier.
   */
  cutOf(bytes: Buffer): number {
    this.#streamed ??= this.#forms.map(({ text }) => Buffer.from(text));
    let cut = bytes.length;
    for (const form of this.#streamed) cut = Math.min(cut, openingOf(form, bytes));
    for (let before = bytes.length; cut < before; ) {
      before = cut;
      for (const form of this.#streamed) {
        const at = bytes.indexOf(form, Math.max(0, cut - form.length + 1));
        if (at >= 0 && at < cut) cut = at;
      }
    }
    return cut;
  }

  /** Masks all texts and keys in a plain value. A number whose digits are a secret is replaced by `[SECRET:name]`. */
  value(plain: unknown): unknown {
    switch (typeof plain) {
      case 'string':
        return this.text(plain);
      case 'number':
        return this.#numbers.size === 0 ? plain : (this.#numbers.get(String(plain)) ?? plain);
      case 'object':
        if (plain === null) return null;
        if (Array.isArray(plain)) return mapList(plain, item => this.value(item));
        return mapFields(
          plain as UnknownFields,
          item => this.value(item),
          key => this.text(key),
        );
      default:
        return plain;
    }
  }
}

export type UnknownFields = { readonly [name: string]: unknown };

/** Maps the items of a list. Returns the same list if no item changes. */
export function mapList(list: readonly unknown[], map: (item: unknown) => unknown): readonly unknown[] {
  let mapped: unknown[] | null = null;
  for (let place = 0; place < list.length; place++) {
    const item = map(list[place]);
    if (mapped === null && item !== list[place]) mapped = list.slice(0, place);
    mapped?.push(item);
  }
  return mapped ?? list;
}

/** Maps the values and the names of an object. Returns the same object if no name or value changes. */
export function mapFields(
  fields: UnknownFields,
  map: (value: unknown, name: string) => unknown,
  rename: (name: string) => string = name => name,
): UnknownFields {
  const names = Object.keys(fields);
  let entries: [name: string, value: unknown][] | null = null;
  for (let place = 0; place < names.length; place++) {
    const name = names[place]!;
    const renamed = rename(name);
    const value = map(fields[name], name);
    if (entries === null && (renamed !== name || value !== fields[name]))
      entries = names.slice(0, place).map(before => [before, fields[before]]);
    entries?.push([renamed, value]);
  }
  return entries === null ? fields : Object.fromEntries(entries);
}

/** The lowest offset from which all remaining bytes match the beginning of the spelling; `bytes.length` if there is no such offset. */
function openingOf(form: Buffer, bytes: Buffer): number {
  let at = Math.max(0, bytes.length - form.length + 1);
  for (; at < bytes.length; at++) {
    at = bytes.indexOf(form[0]!, at);
    if (at < 0) break;
    if (bytes.compare(form, 0, bytes.length - at, at) === 0) return at;
  }
  return bytes.length;
}

/** Adds the occurrences of a spelling in a text to `hits`. Overlapping occurrences are merged. */
function addHits({ text: form, mark }: Form, text: string, hits: Hit[]): void {
  let last: Hit | null = null;
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) {
    const end = at + form.length;
    if (last !== null && at < last.end) last.end = end;
    else {
      last = { at, end, mark };
      hits.push(last);
    }
  }
}

/** Masks the secrets of all recent frames, in output that cannot be assigned to one frame, such as printed lines. */
export class LearnedMask {
  readonly #values = new Map<string, string>();
  readonly #seen = new Set<string>();
  #mask: Mask | null = null;

  learn(packed: Uint8Array): void {
    const text = Buffer.from(packed.buffer, packed.byteOffset, packed.length).toString('latin1');
    if (this.#seen.has(text)) return;
    const secrets = Object.entries(unpack<{ [name: string]: string }>(packed));
    for (const [name, value] of secrets) {
      this.#values.delete(value);
      this.#values.set(value, name);
    }
    // A dropped value may belong to secrets in `#seen`. With `#seen` cleared, these secrets are learned again when they reappear.
    if (forgetOldest(this.#values, Math.max(valuesMax, secrets.length))) this.#seen.clear();
    this.#seen.add(text);
    forgetOldest(this.#seen, seenMax);
    // If no other secrets are known, the cached mask of these secrets is used.
    this.#mask = this.#seen.size === 1 && this.#values.size === secrets.length ? Mask.of(packed) : null;
  }

  text(text: string): string {
    return this.mask?.text(text) ?? text;
  }

  /** The mask of all known secrets; null if there are none. */
  get mask(): Mask | null {
    if (this.#values.size > 0) this.#mask ??= new Mask(Array.from(this.#values, ([value, name]) => [name, value]));
    return this.#mask;
  }
}

const seenMax = 256;
const valuesMax = 1024;

/** Drops the oldest entries until `sizeMax` are left. Returns whether any was dropped. */
function forgetOldest(from: Set<string> | Map<string, string>, sizeMax: number): boolean {
  const isOver = from.size > sizeMax;
  for (const oldest of from.keys()) {
    if (from.size <= sizeMax) break;
    from.delete(oldest);
  }
  return isOver;
}
