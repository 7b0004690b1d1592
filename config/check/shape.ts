// Checks a tree against a JSON Schema and says what breaks it in words, at the place in the file.

import { compileOwnSchema, type Mismatch, type SchemaCheck } from '../../runtime/json-schema.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import {
  describeKind,
  emptyMap,
  isEmptyNode,
  type MapEntry,
  type NodePath,
  nodeAt,
  placesAt,
  plainValue,
  type SourceNode,
} from '../source/tree.ts';
import type { Problem, Report } from './problem.ts';
import { closest, hint } from './suggestion.ts';

// Our own schemas are few and fixed: compiled once, not with every load.
const compiled = new WeakMap<JsonObject, SchemaCheck>();

function checkOf(schema: JsonObject): SchemaCheck {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const check = compileOwnSchema(schema);
  compiled.set(schema, check);
  return check;
}

/** A tree whose known keys with nothing behind them are unset; what is wrong with it is reported. */
export function checkShape(root: SourceNode, schema: JsonObject, report: Report): SourceNode {
  const tree = withoutUnset(root, schema);
  const mismatches = checkOf(schema)(plainValue(tree));
  const told = new Set<string>();
  for (const mismatch of mismatches) {
    const path = pathOf(tree, mismatch.pointer);
    const problem = keyProblem(tree, path, mismatch) ?? valueProblem(tree, path, mismatch, mismatches);
    const key = JSON.stringify(problem?.path);
    if (problem === null || told.has(key)) continue;
    told.add(key);
    report(problem);
  }
  return tree;
}

/** `plugins:` with nothing behind it means no setting; a named entry of a map (`echo:`) means one without settings. */
function withoutUnset(node: SourceNode, schema: JsonObject): SourceNode {
  const properties = (schema['properties'] ?? {}) as { readonly [key: string]: JsonObject };
  const others = schema['additionalProperties'];
  const itemSchema = schema['items'];
  if (node.kind === 'list' && isSchema(itemSchema)) {
    return { ...node, items: node.items.map(item => withoutUnset(item, itemSchema)) };
  }
  if (node.kind !== 'map') return node;
  const entries = new Map<string, MapEntry>();
  for (const [key, entry] of node.entries) {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const isUnset = isEmptyNode(entry.value);
    if (known !== undefined && isUnset) continue;
    const inner = known ?? (isSchema(others) ? others : undefined);
    const value = isUnset && inner?.['type'] === 'object' ? emptyMap(entry.value.place) : entry.value;
    entries.set(key, inner === undefined ? entry : { ...entry, value: withoutUnset(value, inner) });
  }
  return { ...node, entries };
}

function isSchema(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

function pathOf(root: SourceNode, pointer: string): (string | number)[] {
  const path: (string | number)[] = [];
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(nodeAt(root, ...path)?.kind === 'list' ? Number(key) : key);
  }
  return path;
}

/** Trouble with a key: unknown, missing, or not a name. */
function keyProblem(root: SourceNode, parent: NodePath, mismatch: Mismatch): Problem | null {
  const { keyword, params, schema } = mismatch;
  const properties = (schema['properties'] ?? {}) as { readonly [key: string]: JsonObject };
  if (keyword === 'additionalProperties') {
    const key = String(params['additionalProperty']);
    const path = [...parent, key];
    const message = `is not a known key; ${hint(key, Object.keys(properties), 'keys')}`;
    return { place: placesAt(root, path).key, path, message };
  }
  if (keyword === 'required') {
    const key = String(params['missingProperty']);
    const message = `is missing; it must be ${expectedOf(properties[key] ?? {})}`;
    return { place: placesAt(root, parent).value, path: [...parent, key], message };
  }
  if (keyword === 'propertyNames') {
    const key = String(params['propertyName']);
    const path = [...parent, key];
    const message = `cannot be a key here; it must be ${expectedOf((schema['propertyNames'] ?? {}) as JsonObject)}`;
    return { place: placesAt(root, path).key, path, message };
  }
  return null;
}

/** Trouble with a value: one problem for each, whatever number of keywords it breaks. */
function valueProblem(root: SourceNode, path: NodePath, mismatch: Mismatch, all: readonly Mismatch[]): Problem | null {
  if (mismatch.key !== null) return null;
  const same = all.filter(other => other.pointer === mismatch.pointer && other.key === null);
  // Of a union its branches are wrong too; what is expected stands on the union.
  const schema = (same.find(other => other.keyword === 'anyOf') ?? mismatch).schema;
  const node = nodeAt(root, ...path);
  if (node === undefined) return null;
  const message = `${wrongness(node, schema)}; it must be ${expectedOf(schema)}${advice(node, schema)}`;
  return { place: node.place, path, message };
}

function wrongness(node: SourceNode, schema: JsonObject): string {
  if (node.kind !== 'scalar') return `is ${describeKind(node)}`;
  if (node.value === null) return 'is empty';
  if (node.value === '') return 'is an empty text';
  // A secret in the wrong place is still a secret.
  if (schema['type'] === 'object' || schema['type'] === 'array') return `is ${describeKind(node)}`;
  const kind = typeof node.value === 'string' ? 'not right' : `a ${typeof node.value}`;
  if (schema['writeOnly'] === true) return `is ${kind}`;
  const shown = node.plain ? JSON.stringify(node.written) : node.written;
  const short = typeof node.value === 'string' ? shown : node.written;
  return `is ${short.length > 80 ? `${short.slice(0, 79)}…` : short}`;
}

function expectedOf(schema: JsonObject): string {
  return typeof schema['expected'] === 'string' ? schema['expected'] : `a ${String(schema['type'] ?? 'value')}`;
}

function advice(node: SourceNode, schema: JsonObject): string {
  if (node.kind !== 'scalar' || node.value === null || node.value === '') return '';
  const { type, pattern } = schema;
  if (typeof node.value !== 'string') {
    const fits = typeof pattern !== 'string' || new RegExp(pattern).test(node.written);
    return type === 'string' && fits && !Array.isArray(schema['enum']) ? '; quotes make it text' : '';
  }
  const isNumeric = type === 'integer' && /^[0-9]+$/.test(node.value);
  if ((isNumeric || (type === 'boolean' && /^(true|false)$/.test(node.value))) && !node.plain) {
    return '; take the quotes away';
  }
  const values = schema['enum'];
  const close = Array.isArray(values) ? closest(node.value, values as string[]) : undefined;
  return close === undefined ? '' : `; did you mean ${JSON.stringify(close)}?`;
}
