// Parses text that can contain references such as `{payload.a}`: the values of `with`, and the types of webhook events. This
// happens when the configuration is loaded.
import { isObject } from '../../runtime/json-value.ts';
import type { Json } from '../../runtime/packing.ts';
import type { ReportAt } from '../check/problem.ts';
import type { NodePath } from '../source/tree.ts';
import type { Path, Template } from './definition.ts';
import { type PathRoot, parsePath, quote } from './path.ts';

const templateRoots: readonly PathRoot[] = ['payload', 'context'];

/** Parses the entries of `with`, or of a map inside it. */
export function readTemplates(
  map: { readonly [key: string]: unknown },
  at: NodePath,
  reportAt: ReportAt,
): [string, Template][] {
  return Object.entries(map).map(([key, value]) => [key, readTemplate(value, [...at, key], reportAt)]);
}

function readTemplate(value: unknown, at: NodePath, reportAt: ReportAt): Template {
  if (typeof value === 'string') return readText(value, at, reportAt);
  if (Array.isArray(value)) {
    const items = value.map((item, i) => readTemplate(item, [...at, i], reportAt));
    if (items.every(item => item.kind === 'literal')) return { kind: 'literal', value: items.map(item => item.value) };
    return { kind: 'list', items };
  }
  if (!isObject(value)) return { kind: 'literal', value: value as Json };
  const entries = readTemplates(value, at, reportAt);
  const literal: [string, Json][] = [];
  for (const [key, entry] of entries) {
    if (entry.kind !== 'literal') return { kind: 'map', entries };
    literal.push([key, entry.value]);
  }
  return { kind: 'literal', value: Object.fromEntries(literal) };
}

function readText(text: string, at: NodePath, reportAt: ReportAt): Template {
  const parts = parseText(text, templateRoots);
  if ('wrong' in parts) {
    reportAt(at, parts.wrong);
    return { kind: 'literal', value: text };
  }
  const [only] = parts;
  if (only === undefined) return { kind: 'literal', value: '' };
  if (parts.length > 1) return { kind: 'text', parts };
  return typeof only === 'string' ? { kind: 'literal', value: only } : { kind: 'reference', path: only };
}

/**
 * Splits text into literal text and the paths in braces; `{{` and `}}` are literal braces. If the text is not a template, `wrong` is the
 * problem.
 */
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
      return { wrong: `${quote(text)}: a "}" without its "{"; write "}}" for a literal brace` };
    } else {
      const end = text.indexOf('}', i);
      if (end < 0) return { wrong: `${quote(text)}: a "{" without its "}"; write "{{" for a literal brace` };
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
