// Checks a tree against a JSON Schema and says what breaks it in words, at the place in the file.
import type { JsonObject } from '../../runtime/packing.ts';
import {
  describeKind,
  emptyMap,
  isEmptyNode,
  type MapEntry,
  nodeAt,
  placesAt,
  plainValue,
  type SourceNode,
} from '../source/tree.ts';
import { type Mismatch, mismatchesOf } from './mismatch.ts';
import type { Problem, Report } from './problem.ts';
import { closest, hint } from './suggestion.ts';

/** A tree whose known keys with nothing behind them are unset; what is wrong with it is reported. */
export function checkShape(root: SourceNode, schema: JsonObject, report: Report): SourceNode {
  const tree = withoutUnset(root, schema);
  const told = new Set<string>();
  for (const mismatch of mismatchesOf(plainValue(tree), schema).flatMap(found => withinMap(tree, found))) {
    const problem = keyProblem(tree, mismatch) ?? valueProblem(tree, mismatch);
    const key = JSON.stringify(problem?.path);
    if (problem === null || told.has(key)) continue;
    told.add(key);
    report(problem);
  }
  return tree;
}

/** A map that breaks a union was meant for the branch of maps, where there is one: what is wrong in there says more. */
function withinMap(tree: SourceNode, mismatch: Mismatch): Mismatch[] {
  const { keyword, path, schema } = mismatch;
  const node = keyword === 'anyOf' ? nodeAt(tree, ...path) : undefined;
  const maps = (schema['anyOf'] as JsonObject[] | undefined)?.filter(({ type }) => type === 'object') ?? [];
  return node?.kind === 'map' && maps.length === 1 ? mismatchesOf(plainValue(node), maps[0]!, path) : [mismatch];
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

/** Trouble with a key: unknown, missing, or not a name. */
function keyProblem(root: SourceNode, { path: parent, keyword, schema, key }: Mismatch): Problem | null {
  if (key === null) return null;
  const path = [...parent, key];
  const properties = (schema['properties'] ?? {}) as { readonly [key: string]: JsonObject };
  if (keyword === 'required') {
    const message = `is missing; it must be ${expectedOf(properties[key] ?? {})}`;
    return { place: placesAt(root, parent).value, path, message };
  }
  const message =
    keyword === 'additionalProperties'
      ? `is not a known key; ${hint(key, Object.keys(properties), 'keys')}`
      : `cannot be a key here; it must be ${expectedOf((schema['propertyNames'] ?? {}) as JsonObject)}`;
  return { place: placesAt(root, path).key, path, message };
}

/** Trouble with a value: one problem for each, whatever number of keywords it breaks. */
function valueProblem(root: SourceNode, { path, schema }: Mismatch): Problem | null {
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
  const { expected, type = 'value', additionalProperties: others } = schema;
  const shown = typeof expected === 'string' ? expected : `a ${String(type)}`;
  return others === false ? `${shown} (${keysOf(schema)})` : shown;
}

/** `event; optional: values`. */
function keysOf({ properties = {}, required = [] }: JsonObject): string {
  const needed = required as readonly string[];
  const others = Object.keys(properties as JsonObject).filter(key => !needed.includes(key));
  const optional = others.length === 0 ? [] : [`optional: ${others.join(', ')}`];
  return [...(needed.length === 0 ? [] : [needed.join(', ')]), ...optional].join('; ');
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
