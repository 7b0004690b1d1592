// Renders the templates of `with`. A reference to a missing path fails, and the result names the path.
import { type Path, pathText, type Template } from '../../../config/pipeline/definition.ts';
import { type Json, pack, unpack } from '../../../runtime/packing.ts';
import { bytesOf, type Section } from '../../../runtime/parted.ts';
import { listHead, mapHead, textHead } from '../../../runtime/splice.ts';
import type { Data } from './lookup.ts';

/** A large value that took the place of a reference, and stays packed. */
type PackedValue = { readonly kind: 'packed'; readonly bytes: Uint8Array };
/** A value that takes the place of a reference. */
export type Bound = Extract<Template, { readonly kind: 'literal' }> | PackedValue;
export type EntryTemplate =
  | Exclude<Template, { readonly kind: 'list' | 'map' }>
  | PackedValue
  | { readonly kind: 'list'; readonly items: readonly EntryTemplate[] }
  | { readonly kind: 'map'; readonly entries: Entries };
export type Entries = readonly (readonly [string, EntryTemplate])[];
/** The result of a template that refers to a missing path. */
export class Missing {
  readonly missing: string;
  constructor(path: Path) {
    this.missing = pathText(path);
  }
}

/** The value of a template, or the missing path. A single reference keeps the type of its value. */
export function render(template: EntryTemplate, data: Data): Json | Missing {
  switch (template.kind) {
    case 'literal':
      return template.value;
    case 'packed':
      return unpack(template.bytes);
    case 'reference': {
      const value = data.value(template.path);
      return value === undefined ? new Missing(template.path) : value;
    }
    case 'text':
      return renderText(template.parts, data);
    case 'list':
      return collect(template.items, item => render(item, data));
    case 'map':
      return renderEntries(template.entries, data);
  }
}

/** Applies `make` to each item. Returns the results, or the first missing path. */
function collect<A, B>(from: readonly A[], make: (each: A) => B | Missing): B[] | Missing {
  const all: B[] = [];
  for (const each of from) {
    const made = make(each);
    if (made instanceof Missing) return made;
    all.push(made);
  }
  return all;
}

export function renderEntries(entries: Entries, data: Data): { [key: string]: Json } | Missing {
  const rendered: { [key: string]: Json } = {};
  for (const [key, template] of entries) {
    const value = render(template, data);
    if (value instanceof Missing) return value;
    rendered[key] = value;
  }
  return rendered;
}

/**
 * Finds the value under a path, in pieces. `value` returns its packed form, and `text` the bytes of its text. Null: the value is missing.
 */
export type FindPieces = {
  value(path: Path): readonly Section[] | null;
  text(path: Path): readonly Uint8Array[] | null;
};

/** The entries of a packed map, without its head. The value of a single reference is copied without decoding. */
export function packEntries(entries: Entries, find: FindPieces): Section[] | Missing {
  const packed: Section[] = [];
  return addEntries(packed, entries, find) ?? packed;
}

function addEntries(packed: Section[], entries: Entries, find: FindPieces): Missing | null {
  for (const [key, template] of entries) {
    packed.push(pack(key));
    const missing = addPacked(packed, template, find);
    if (missing) return missing;
  }
  return null;
}

function addPacked(packed: Section[], template: EntryTemplate, find: FindPieces): Missing | null {
  switch (template.kind) {
    case 'literal':
      packed.push(pack(template.value));
      return null;
    case 'packed':
      packed.push(template.bytes);
      return null;
    case 'reference': {
      const found = find.value(template.path);
      if (found === null) return new Missing(template.path);
      packed.push(...found);
      return null;
    }
    case 'text':
      return addText(packed, template.parts, find);
    case 'list':
      packed.push(listHead(template.items.length));
      for (const item of template.items) {
        const missing = addPacked(packed, item, find);
        if (missing) return missing;
      }
      return null;
    case 'map':
      packed.push(mapHead(template.entries.length));
      return addEntries(packed, template.entries, find);
  }
}

function addText(packed: Section[], parts: readonly (string | Path)[], find: FindPieces): Missing | null {
  const pieces: Uint8Array[] = [];
  for (const part of parts) {
    const found = typeof part === 'string' ? [Buffer.from(part)] : find.text(part);
    if (found === null) return new Missing(part as Path);
    for (const piece of found) pieces.push(piece);
  }
  packed.push(textHead(bytesOf(pieces)));
  for (const piece of pieces) packed.push(piece);
  return null;
}

function renderText(parts: readonly (string | Path)[], data: Data): string | Missing {
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const found = data.text(part);
    if (found === undefined) return new Missing(part);
    text += found;
  }
  return text;
}

/** Whether the path refers to the element of a fan-out (`item` or `index`), and so has a different value for each element. */
export function isOfElement({ root, keys }: Path): boolean {
  return root === 'payload' && (keys[0] === 'item' || keys[0] === 'index');
}

/** Whether the value of a path is known only when an element of the fan-out is rendered. */
export type IsPerElement = (path: Path) => boolean;

/** Whether a template contains a path that refers to the element of a fan-out. */
export function isPerElementTemplate(template: EntryTemplate): boolean {
  switch (template.kind) {
    case 'literal':
    case 'packed':
      return false;
    case 'reference':
      return isOfElement(template.path);
    case 'text':
      return template.parts.some(part => typeof part !== 'string' && isOfElement(part));
    case 'list':
      return template.items.some(isPerElementTemplate);
    case 'map':
      return template.entries.some(([, entry]) => isPerElementTemplate(entry));
  }
}

export function hasPacked(template: EntryTemplate): boolean {
  switch (template.kind) {
    case 'packed':
      return true;
    case 'list':
      return template.items.some(hasPacked);
    case 'map':
      return template.entries.some(([, entry]) => hasPacked(entry));
    default:
      return false;
  }
}

/** The number of characters in the literal parts of the template's texts. References do not count. */
export function textLengthOf(template: EntryTemplate): number {
  switch (template.kind) {
    case 'text':
      return template.parts.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0);
    case 'list':
      return template.items.reduce((sum, item) => sum + textLengthOf(item), 0);
    case 'map':
      return template.entries.reduce((sum, [, entry]) => sum + textLengthOf(entry), 0);
    default:
      return 0;
  }
}

/** Finds the value at a path that does not depend on the element. Undefined: the value is missing. */
type BoundAt = (path: Path) => Bound | undefined;

/** Replaces each reference whose value is the same for all elements by this value. */
export function bindTemplate(
  template: EntryTemplate,
  data: Data,
  isPerElement: IsPerElement,
  at: BoundAt,
): EntryTemplate | Missing {
  switch (template.kind) {
    case 'literal':
    case 'packed':
      return template;
    case 'reference':
      return isPerElement(template.path) ? template : (at(template.path) ?? new Missing(template.path));
    case 'text': {
      const bind = (part: string | Path) =>
        typeof part === 'string' || isPerElement(part) ? part : renderText([part], data);
      const parts = collect(template.parts, bind);
      return parts instanceof Missing ? parts : { kind: 'text', parts };
    }
    case 'list': {
      const items = collect(template.items, item => bindTemplate(item, data, isPerElement, at));
      return items instanceof Missing ? items : { kind: 'list', items };
    }
    case 'map': {
      const entries = bindEntries(template.entries, data, isPerElement, at);
      return entries instanceof Missing ? entries : { kind: 'map', entries };
    }
  }
}

export function bindEntries(entries: Entries, data: Data, isPerElement: IsPerElement, at: BoundAt): Entries | Missing {
  return collect(entries, ([key, template]) => {
    const value = bindTemplate(template, data, isPerElement, at);
    return value instanceof Missing ? value : ([key, value] as const);
  });
}
