// A mask replaces each secret in the output of a plugin by `[SECRET:name]`.
import { unpack } from '../../packing.ts';
import { type Form, SpellingSearch } from './spelling-search.ts';
import { spellingsOf } from './spellings.ts';
import { latin1, StreamSearch } from './stream-search.ts';

/** The maximum number of cached masks, and the maximum length of all their spellings together. The newest mask is always cached. */
const recentMax = 64;
const recentCharsMax = 16 * 1024 * 1024;

export class Mask {
  readonly #forms: readonly Form[];
  readonly #search: SpellingSearch;
  readonly #numbers: ReadonlyMap<string, string>;
  /** Created when a stream is first cut. */
  #stream: StreamSearch | null = null;
  /** The length of the shortest spelling, in characters. */
  readonly #charsMin: number;
  /** The length of the longest spelling, in bytes. */
  readonly bytesMax: number;
  /** The total length of the spellings, in characters. */
  readonly chars: number;

  constructor(secrets: Iterable<readonly [name: string, value: string]>) {
    const marks = new Map<string, string>();
    const numbers = new Map<string, string>();
    for (const [name, value] of secrets) {
      const mark = `[SECRET:${name}]`;
      for (const text of spellingsOf(value)) if (text !== '' && !marks.has(text)) marks.set(text, mark);
      if (String(Number(value)) === value) numbers.set(value, mark);
    }
    const forms = Array.from(marks, ([text, mark]) => ({ text, mark }));
    this.#forms = forms;
    this.#search = new SpellingSearch(forms);
    this.#numbers = numbers;
    this.#charsMin = forms.reduce((least, { text }) => Math.min(least, text.length), Number.POSITIVE_INFINITY);
    this.bytesMax = forms.reduce((most, { text }) => Math.max(most, Buffer.byteLength(text)), 0);
    this.chars = forms.reduce((sum, { text }) => sum + text.length, 0);
  }

  /** The mask of these secrets. Recent masks are cached, because the processes of a few instances often alternate. */
  static of(secrets: readonly (readonly [name: string, value: string])[]): Mask {
    const recent = Mask.#recent;
    const key = JSON.stringify(secrets);
    const mask = recent.get(key) ?? new Mask(secrets);
    recent.delete(key);
    recent.set(key, mask);
    let chars = Array.from(recent.values()).reduce((sum, { chars: own }) => sum + own, 0);
    for (const [oldest, { chars: own }] of recent) {
      if (oldest === key || (recent.size <= recentMax && chars <= recentCharsMax)) break;
      recent.delete(oldest);
      chars -= own;
    }
    return mask;
  }

  static readonly #recent = new Map<string, Mask>();

  /** Masks a text from left to right, at each position with the longest spelling. Overlapping spellings are masked, too. */
  text(text: string): string {
    // A text that is shorter than every spelling contains no spelling.
    if (text.length < this.#charsMin) return text;
    const hits = this.#search.hits(text);
    if (hits.length === 0) return text;
    hits.sort((a, b) => a.at - b.at || b.end - a.end || b.form.text.length - a.form.text.length);
    let masked = '';
    let end = 0;
    let before = '';
    for (const hit of hits) {
      if (hit.end <= end) continue;
      if (hit.at >= end) masked += text.slice(end, hit.at);
      if (hit.at >= end || hit.form.mark !== before) masked += hit.form.mark;
      before = hit.form.mark;
      end = hit.end;
    }
    return masked + text.slice(end);
  }

  /**
   * A position at which an unfinished stream can be cut: no secret crosses this position. If the bytes end with the possible beginning of a
   * secret, the position is at this beginning or earlier.
   */
  cutOf(bytes: Buffer): number {
    this.#stream ??= new StreamSearch(this.#forms, this.#search);
    return this.#stream.cutOf(bytes);
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

/**
 * Masks the secrets of all recent frames, in output that cannot be assigned to one frame, such as printed lines. Creates the mask only when a text
 * has to be masked: secrets of many lines have very many spellings.
 */
export class LearnedMask {
  readonly #values = new Map<string, string>();
  readonly #seen = new Set<string>();
  #mask: Mask | null = null;

  learn(packed: Uint8Array): void {
    const text = latin1(packed);
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
    this.#mask = null;
  }

  text(text: string): string {
    return text === '' ? '' : (this.mask?.text(text) ?? text);
  }

  /** The mask of all known secrets; null if there are none. */
  get mask(): Mask | null {
    if (this.#values.size > 0) this.#mask ??= Mask.of(Array.from(this.#values, ([value, name]) => [name, value]));
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
