// Renders the templates of `with`. What is missing refuses, and names the path.
import type { Path, Template } from '../../config/pipeline/definition.ts';
import { type Json, pack } from '../../runtime/packing.ts';
import { mapHead } from '../../runtime/splice.ts';
import { type Data, formatPath, type Large } from './lookup.ts';

export type Entries = readonly (readonly [string, Template])[];
/** A template refers to this path, and there is nothing. */
export class Missing {
  readonly missing: string;
  constructor(path: Path) {
    this.missing = formatPath(path);
  }
}

export function isMissing(value: unknown): value is Missing {
  return value instanceof Missing;
}

/** The value of a template, or the path that is missing. A lone reference keeps the kind of its value. */
export function render(template: Template, data: Data): Json | Missing {
  switch (template.kind) {
    case 'literal':
      return template.value;
    case 'reference': {
      const value = data(template.path);
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

/** What is made of each, or the first path that is missing. */
function collect<A, B>(from: readonly A[], make: (each: A) => B | Missing): B[] | Missing {
  const all: B[] = [];
  for (const each of from) {
    const made = make(each);
    if (isMissing(made)) return made;
    all.push(made);
  }
  return all;
}

export function renderEntries(entries: Entries, data: Data): { [key: string]: Json } | Missing {
  const rendered: { [key: string]: Json } = {};
  for (const [key, template] of entries) {
    const value = render(template, data);
    if (isMissing(value)) return value;
    rendered[key] = value;
  }
  return rendered;
}

/** The entries as a packed map. What a lone reference finds is copied, where it is large, and not decoded. */
export function packEntries(entries: Entries, data: Data, large: Large): Uint8Array | Missing {
  const copies = entries.map(([, template]) => (template.kind === 'reference' ? large(template.path) : null));
  if (copies.every(copy => copy === null)) {
    const rendered = renderEntries(entries, data);
    return isMissing(rendered) ? rendered : pack(rendered);
  }
  const parts: Uint8Array[] = [mapHead(entries.length)];
  for (const [place, [key, template]] of entries.entries()) {
    const copy = copies[place] ?? null;
    const value = copy ?? render(template, data);
    if (isMissing(value)) return value;
    parts.push(pack(key), copy ?? pack(value));
  }
  return Buffer.concat(parts);
}

function renderText(parts: readonly (string | Path)[], data: Data): string | Missing {
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const value = data(part);
    if (value === undefined) return new Missing(part);
    text += typeof value === 'string' ? value : JSON.stringify(value);
  }
  return text;
}

/** Whether a path is only known for each element of a fan-out. */
export function isOfElement({ root, keys }: Path): boolean {
  return root === 'payload' && (keys[0] === 'item' || keys[0] === 'index');
}

/** Says of a path whether it is only known later. */
export type IsLate = (path: Path) => boolean;

/** Whether a template holds a path that is only known later. */
export function isLateTemplate(template: Template, isLate: IsLate): boolean {
  switch (template.kind) {
    case 'literal':
      return false;
    case 'reference':
      return isLate(template.path);
    case 'text':
      return template.parts.some(part => typeof part !== 'string' && isLate(part));
    case 'list':
      return template.items.some(item => isLateTemplate(item, isLate));
    case 'map':
      return template.entries.some(([, entry]) => isLateTemplate(entry, isLate));
  }
}

/** The template with all that is known now put in: what is left refers to what is late alone. */
export function bindTemplate(template: Template, data: Data, isLate: IsLate): Template | Missing {
  if (!isLateTemplate(template, isLate)) {
    const value = render(template, data);
    return isMissing(value) ? value : { kind: 'literal', value };
  }
  switch (template.kind) {
    case 'literal':
    case 'reference':
      return template;
    case 'text': {
      const bind = (part: string | Path) =>
        typeof part === 'string' || isLate(part) ? part : renderText([part], data);
      const parts = collect(template.parts, bind);
      return isMissing(parts) ? parts : { kind: 'text', parts };
    }
    case 'list': {
      const items = collect(template.items, item => bindTemplate(item, data, isLate));
      return isMissing(items) ? items : { kind: 'list', items };
    }
    case 'map': {
      const entries = bindEntries(template.entries, data, isLate);
      return isMissing(entries) ? entries : { kind: 'map', entries };
    }
  }
}

export function bindEntries(entries: Entries, data: Data, isLate: IsLate): Entries | Missing {
  return collect(entries, ([key, template]) => {
    const value = bindTemplate(template, data, isLate);
    return isMissing(value) ? value : ([key, value] as const);
  });
}
