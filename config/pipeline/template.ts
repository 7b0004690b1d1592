// The values of `with`: text with `{payload.a}` in it, taken apart once at load.
import { isObject } from '../../runtime/json-value.ts';
import type { Json } from '../../runtime/packing.ts';
import type { Path, Template } from './definition.ts';
import { type PathRoot, parsePath } from './path.ts';
import { describe, inside, type Place, report } from './problems.ts';

const templateRoots: readonly PathRoot[] = ['payload', 'context'];
const depthMax = 32;

/** One entry after another of a `with` map. */
export function checkTemplates(value: unknown, place: Place): (readonly [string, Template])[] | null {
  if (!isObject(value)) {
    report(place, `must be a map of names to values, not ${describe(value)}`);
    return null;
  }
  return checkEntries(value, place, 0);
}

function checkEntries(map: { readonly [key: string]: unknown }, place: Place, depth: number): [string, Template][] {
  return Object.entries(map).map(([key, value]) => {
    if (key === '__proto__') report(inside(place, key), 'a key cannot be called "__proto__"', 'key');
    return [key, checkTemplate(value, inside(place, key), depth + 1)];
  });
}

function checkTemplate(value: unknown, place: Place, depth: number): Template {
  if (depth > depthMax) {
    report(place, `nested deeper than ${depthMax}`);
    return { kind: 'literal', value: null };
  }
  if (typeof value === 'string') return checkText(value, place);
  if (Array.isArray(value)) {
    const items = value.map((item, i) => checkTemplate(item, inside(place, i), depth + 1));
    if (items.every(item => item.kind === 'literal')) return { kind: 'literal', value: items.map(item => item.value) };
    return { kind: 'list', items };
  }
  if (isObject(value)) {
    const entries = checkEntries(value, place, depth);
    const literal: { [key: string]: Json } = {};
    for (const [key, entry] of entries) {
      if (entry.kind !== 'literal') return { kind: 'map', entries };
      if (key !== '__proto__') literal[key] = entry.value;
    }
    return { kind: 'literal', value: literal };
  }
  return { kind: 'literal', value: (value ?? null) as Json };
}

function checkText(text: string, place: Place): Template {
  const parts = parseText(text, templateRoots);
  if ('wrong' in parts) {
    report(place, parts.wrong);
    return { kind: 'literal', value: text };
  }
  const [only] = parts;
  if (only === undefined) return { kind: 'literal', value: '' };
  if (parts.length > 1) return { kind: 'text', parts };
  return typeof only === 'string' ? { kind: 'literal', value: only } : { kind: 'reference', path: only };
}

/** Text and paths in turn; `{{` and `}}` are braces. */
export function parseText(text: string, roots: readonly PathRoot[]): (string | Path)[] | { readonly wrong: string } {
  const parts: (string | Path)[] = [];
  let literal = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char !== '{' && char !== '}') {
      literal += char;
    } else if (text[i + 1] === char) {
      literal += char;
      i++;
    } else if (char === '}') {
      return { wrong: `${describe(text)}: a "}" without its "{"; write "}}" for the brace itself` };
    } else {
      const end = text.indexOf('}', i);
      if (end < 0) return { wrong: `${describe(text)}: a "{" without its "}"; write "{{" for the brace itself` };
      const path = parsePath(text.slice(i + 1, end).trim(), roots);
      if ('wrong' in path) return { wrong: path.wrong };
      if (literal !== '') parts.push(literal);
      literal = '';
      parts.push(path);
      i = end;
    }
  }
  if (literal !== '') parts.push(literal);
  return parts;
}
