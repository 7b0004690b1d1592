// Masks: the secrets that a plugin was given, wherever they stand in what it gives back, become their names.
import { unpack } from '../../packing.ts';

/** A way in which a value may be written, and what takes its place. */
type Form = { readonly text: string; readonly mark: string };
type Hit = { readonly form: Form; at: number };

/** Shorter values are masked as they are, but not looked for in other encodings: too much else looks the same. */
const encodedCharsMin = 4;
/** Of a value of several lines each line that is so long is masked by itself. */
const lineCharsMin = 8;
/** What is left of a value in the midst of a longer base64 text is looked for where it is so long. */
const innerCharsMin = 8;

export class Mask {
  /** Longest first. */
  readonly #forms: readonly Form[];
  readonly #numbers: ReadonlyMap<string, string>;
  /** The forms as they stand in a stream, made when one is cut. */
  #streamed: readonly Buffer[] | null = null;
  /** No form has fewer characters. */
  readonly #charsMin: number;
  /** No form takes more bytes. */
  readonly bytesMax: number;

  /** Name and value of each secret. */
  constructor(secrets: Iterable<readonly [name: string, value: string]>) {
    const marks = new Map<string, string>();
    const numbers = new Map<string, string>();
    for (const [name, value] of secrets) {
      const mark = `[SECRET:${name}]`;
      for (const text of formsOf(value)) if (text !== '' && !marks.has(text)) marks.set(text, mark);
      if (String(Number(value)) === value) numbers.set(value, mark);
    }
    this.#forms = Array.from(marks, ([text, mark]) => ({ text, mark })).sort((a, b) => b.text.length - a.text.length);
    this.#numbers = numbers;
    this.#charsMin = this.#forms.at(-1)?.text.length ?? Number.POSITIVE_INFINITY;
    this.bytesMax = this.#forms.reduce((most, { text }) => Math.max(most, Buffer.byteLength(text)), 0);
  }

  /** Of the packed map of a frame; null where it has none. The last one is kept: frames of an instance follow one another. */
  static of(packed: Uint8Array | null): Mask | null {
    if (packed === null) return null;
    if (!Mask.#last || Buffer.compare(Mask.#last.packed, packed) !== 0) {
      const mask = new Mask(Object.entries(unpack<{ [name: string]: string }>(packed)));
      Mask.#last = { packed: Buffer.from(packed), mask };
    }
    return Mask.#last.mask;
  }

  static #last: { readonly packed: Buffer; readonly mask: Mask } | null = null;

  /** From left to right, the longest form at each place; what overlaps is covered too. */
  text(text: string): string {
    // Most texts are shorter than every form: keys, and the words of the contract.
    if (text.length < this.#charsMin) return text;
    const hits: Hit[] = [];
    for (const form of this.#forms) {
      if (form.text.length > text.length) continue;
      const at = text.indexOf(form.text);
      if (at >= 0) hits.push({ form, at });
    }
    if (hits.length === 0) return text;
    let masked = '';
    let end = 0;
    for (let first = firstOf(hits); first; first = firstOf(hits)) {
      masked += text.slice(end, first.at);
      end = first.at;
      let mark = '';
      for (let next: Hit | undefined = first; next; next = hits.find(hit => isOver(hit, end))) {
        if (next.form.mark !== mark) masked += next.form.mark;
        mark = next.form.mark;
        end = next.at + next.form.text.length;
        for (const hit of hits) advance(hit, text, end);
      }
    }
    return masked + text.slice(end);
  }

  /** Where a stream that goes on may be cut: behind it stands whatever may be the beginning of a value, and no value lies across it. */
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

  /** A plain value, with its keys; a number that is a secret as a whole becomes a text. */
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
          plain as Fields,
          item => this.value(item),
          key => this.text(key),
        );
      default:
        return plain;
    }
  }
}

export type Fields = { readonly [name: string]: unknown };

/** The list itself where nothing in it changes: what most plugins say holds no secret. */
export function mapList(list: readonly unknown[], map: (item: unknown) => unknown): readonly unknown[] {
  let mapped: unknown[] | null = null;
  for (let place = 0; place < list.length; place++) {
    const item = map(list[place]);
    if (mapped === null && item !== list[place]) mapped = list.slice(0, place);
    mapped?.push(item);
  }
  return mapped ?? list;
}

/** The object itself where nothing in it changes. */
export function mapFields(
  fields: Fields,
  map: (value: unknown, name: string) => unknown,
  rename: (name: string) => string = name => name,
): Fields {
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

/** Where the form begins that the bytes break off in; their length when they do not. */
function openingOf(form: Buffer, bytes: Buffer): number {
  let at = Math.max(0, bytes.length - form.length + 1);
  for (; at < bytes.length; at++) {
    at = bytes.indexOf(form[0]!, at);
    if (at < 0) break;
    if (bytes.compare(form, 0, bytes.length - at, at) === 0) return at;
  }
  return bytes.length;
}

function firstOf(hits: readonly Hit[]): Hit | undefined {
  let first: Hit | undefined;
  for (const hit of hits) if (hit.at < (first?.at ?? Number.POSITIVE_INFINITY)) first = hit;
  return first;
}

/** It begins before this end, and goes on beyond it. */
function isOver({ at, form }: Hit, end: number): boolean {
  return at < end && at + form.text.length > end;
}

/** To its next place that is not covered as a whole. */
function advance(hit: Hit, text: string, end: number): void {
  while (hit.at + hit.form.text.length <= end) {
    const at = text.indexOf(hit.form.text, hit.at + 1);
    hit.at = at < 0 ? Number.POSITIVE_INFINITY : at;
  }
}

function formsOf(value: string): string[] {
  const lines = value.split(/\r?\n/).filter(line => line !== value && line.length >= lineCharsMin);
  return [value, ...lines].flatMap(text => (text.length < encodedCharsMin ? [text] : [text, ...encodingsOf(text)]));
}

function encodingsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const hex = bytes.toString('hex');
  const every = hex.replaceAll(/../g, '%$&');
  const component = encodeURIComponent(text);
  const strict = component.replaceAll(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([['', text]]).toString().slice(1);
  const urls = [component, strict, form, component.replaceAll('%2F', '/'), encodeURI(text), every];
  return [
    hex,
    hex.toUpperCase(),
    ...urls.flatMap(url => [url, ...withEscapes(url)]),
    ...base64Of(bytes),
    ...quotedOf(text),
  ];
}

/** As text within a document: escaped for JSON, for a JSON string that holds JSON, for HTML, or for HTML in a JSON string. */
function quotedOf(text: string): string[] {
  const inJson = jsonWriters.flatMap(write => [write(text), write(write(text))]);
  const inHtml = htmlQuotes.map(quotes => htmlOf(text, quotes));
  return [...inJson, ...inHtml, ...inHtml.map(jsonOf)];
}

/** How JSON is written: as JavaScript does; in ASCII alone (Python, Java); fit for HTML (Go); with escaped slashes (PHP). */
const jsonWriters: readonly ((text: string) => string)[] = [
  jsonOf,
  text => unicodeEscaped(jsonOf(text), /[\u0080-\uffff]/g),
  text => unicodeEscaped(jsonOf(text), /[<>&\u2028\u2029]/g),
  text => unicodeEscaped(jsonOf(text).replaceAll('/', '\\/'), /[\u0080-\uffff]/g),
];

function jsonOf(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function unicodeEscaped(text: string, which: RegExp): string {
  return text.replaceAll(which, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** How the double and the single quote are written in HTML: left alone, by name, or by number. */
const htmlQuotes = [
  ['"', "'"],
  ['&quot;', "'"],
  ['&quot;', '&#39;'],
  ['&quot;', '&#x27;'],
  ['&quot;', '&#039;'],
  ['&quot;', '&apos;'],
  ['&#34;', '&#39;'],
] as const;

function htmlOf(text: string, [double, single]: (typeof htmlQuotes)[number]): string {
  const marks: { readonly [mark: string]: string } = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': double,
    "'": single,
  };
  return text.replaceAll(/[&<>"']/g, mark => marks[mark]!);
}

/** The same with all escapes in the other letter case. */
function withEscapes(url: string): string[] {
  return [
    url.replaceAll(/%[\da-fA-F]{2}/g, one => one.toLowerCase()),
    url.replaceAll(/%[\da-fA-F]{2}/g, one => one.toUpperCase()),
  ];
}

/** As a whole, and what is left of it behind one or two bytes of something else; in both alphabets. */
function base64Of(bytes: Buffer): string[] {
  const whole = bytes.toString('base64');
  const bare = whole.replace(/=+$/, '');
  const inner = [0, 1, 2]
    .map(before => {
      const padded = Buffer.concat([Buffer.alloc(before), bytes]);
      // Characters that share bits with what stands before or behind are not the value's own.
      const end = Math.floor((padded.length * 8) / 6);
      return padded.toString('base64').slice(Math.ceil((before * 8) / 6), end);
    })
    .filter(text => text.length >= innerCharsMin);
  return [whole, bare, ...inner].flatMap(text => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

/** Values that were given out, as far as is remembered: for what is said without a frame, such as printed lines. */
export class LearnedMask {
  readonly #values = new Map<string, string>();
  readonly #seen = new Set<string>();
  #mask: Mask | null = null;

  /** The packed secrets of a frame. */
  learn(packed: Uint8Array): void {
    const text = Buffer.from(packed.buffer, packed.byteOffset, packed.length).toString('latin1');
    if (this.#seen.has(text)) return;
    const secrets = Object.entries(unpack<{ [name: string]: string }>(packed));
    for (const [name, value] of secrets) {
      this.#values.delete(value);
      this.#values.set(value, name);
    }
    // A frame that was seen may have had the value that is forgotten: it is learned again.
    if (forgetOldest(this.#values, Math.max(valuesMax, secrets.length))) this.#seen.clear();
    this.#seen.add(text);
    forgetOldest(this.#seen, seenMax);
    // A process of one attempt learns of one frame: its mask is made already.
    this.#mask = this.#seen.size === 1 && this.#values.size === secrets.length ? Mask.of(packed) : null;
  }

  text(text: string): string {
    return this.mask?.text(text) ?? text;
  }

  /** Null while none is known. */
  get mask(): Mask | null {
    if (this.#values.size > 0) this.#mask ??= new Mask(Array.from(this.#values, ([value, name]) => [name, value]));
    return this.#mask;
  }
}

const seenMax = 256;
const valuesMax = 1024;

/** Returns whether there was anything to forget. */
function forgetOldest(from: Set<string> | Map<string, string>, sizeMax: number): boolean {
  const isOver = from.size > sizeMax;
  for (const oldest of from.keys()) {
    if (from.size <= sizeMax) break;
    from.delete(oldest);
  }
  return isOver;
}
