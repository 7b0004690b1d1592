// Checks a source tree (`config/source/tree.ts`) against a JSON Schema, and reports the mismatches in words at their locations in the file.
import type { JsonObject } from '../../runtime/packing.ts';
import {
  describeKind,
  emptyMap,
  isEmptyNode,
  type MapEntry,
  type MapNode,
  type NodePath,
  nodeAt,
  placesAt,
  plainValue,
  type SourceNode,
} from '../source/tree.ts';
import { type Definitions, definitionsOf, isValid, type Mismatch, mismatchesOf, resolved } from './mismatch.ts';
import type { ConfigProblem, Report } from './problem.ts';
import { closest, didYouMean, hint } from './suggestion.ts';

/** Reports the mismatches with the schema, one per path. Returns the source tree without unset keys, and with misspelt keys corrected. */
export function checkShape(root: SourceNode, schema: JsonObject, report: Report): SourceNode {
  const definitions = definitionsOf(schema);
  const tree = normalised(root, schema, [], { definitions, report });
  const reported = new Set<string>();
  for (const mismatch of mismatchesOf(plainValue(tree), schema).flatMap(found =>
    ofMeantAlternative(tree, found, definitions),
  )) {
    const problem = keyProblem(tree, mismatch) ?? valueProblem(tree, mismatch);
    const key = JSON.stringify(problem?.path);
    if (problem === null || reported.has(key)) continue;
    reported.add(key);
    report(problem);
  }
  return tree;
}

/**
 * If a map or list fits no alternative of a union, returns the mismatches of the alternative that is probably meant.
 * Otherwise returns the mismatch unchanged.
 */
function ofMeantAlternative(tree: SourceNode, mismatch: Mismatch, definitions: Definitions): Mismatch[] {
  const { keyword, path, schema } = mismatch;
  const node = keyword === 'anyOf' ? nodeAt(tree, ...path) : undefined;
  const meant = node && alternativeFor(node, schema, definitions);
  if (meant === undefined) return [mismatch];
  const found = mismatchesOf(plainValue(node!), meant, path, definitions);
  return found.flatMap(one => ofMeantAlternative(tree, one, definitions));
}

/**
 * The alternative of a union that the node probably means. Among the alternatives for this kind of node (map or list),
 * it is the first that requires no key, or whose first required key the node has. If there is no such alternative, it
 * is the first for this kind.
 */
function alternativeFor(node: SourceNode, schema: JsonObject, definitions: Definitions): JsonObject | undefined {
  const type = { map: 'object', list: 'array', scalar: undefined }[node.kind];
  const choice = ((schema['anyOf'] ?? []) as readonly JsonObject[]).map(one => resolved(one, definitions));
  const ofKind = choice.filter(one => one['type'] === type);
  const isMeant = ({ required: [key] = [] }: { readonly required?: readonly string[] }): boolean =>
    key === undefined || nodeAt(node, key) !== undefined;
  return ofKind.find(isMeant) ?? ofKind[0];
}

type ShapeContext = { readonly definitions: Definitions; readonly report: Report };

/**
 * Removes unset keys, and corrects and reports misspelt ones. A known key without a value (`plugins:`) is unset, unless its schema allows null.
 * A freely named key without a value stays; if the value must be a map (`echo:` in `plugins`), it becomes an empty map.
 */
function normalised(node: SourceNode, written: JsonObject, path: NodePath, check: ShapeContext): SourceNode {
  if (node.kind === 'scalar') return node;
  const found = resolved(written, check.definitions);
  const schema = found['anyOf'] === undefined ? found : alternativeFor(node, found, check.definitions);
  if (schema === undefined) return node;
  const { items, additionalProperties: others } = schema;
  if (node.kind === 'list') {
    if (!isSchema(items)) return node;
    return { ...node, items: node.items.map((item, index) => normalised(item, items, [...path, index], check)) };
  }
  const properties = (schema['properties'] ?? {}) as { readonly [key: string]: JsonObject };
  const entries = new Map<string, MapEntry>();
  for (const [key, entry] of node.entries) {
    const meant = others === false ? misspelt(key, node, Object.keys(properties)) : undefined;
    if (meant !== undefined) {
      const message = `is not a known key; did you mean ${JSON.stringify(meant)}?`;
      check.report({ place: entry.keyPlace, path: [...path, key], message });
    }
    const name = meant ?? key;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const isUnset = isEmptyNode(entry.value);
    if (known !== undefined && isUnset && !isValid(null, known, check.definitions)) continue;
    const inner = known ?? (isSchema(others) ? others : undefined);
    const value = isUnset && inner?.['type'] === 'object' ? emptyMap(entry.value.place) : entry.value;
    entries.set(name, inner ? { ...entry, value: normalised(value, inner, [...path, name], check) } : entry);
  }
  return { ...node, entries };
}

/** The known key that an unknown key probably means. Undefined if no known key is similar, or if the map already has the similar key. */
function misspelt(key: string, { entries }: MapNode, known: readonly string[]): string | undefined {
  if (known.includes(key)) return undefined;
  const meant = closest(key, known);
  return meant === undefined || entries.has(meant) ? undefined : meant;
}

function isSchema(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

/** The problem of a key: the key is unknown, missing, badly named, or lacks another key that it requires. */
function keyProblem(root: SourceNode, { path: parent, keyword, schema, key }: Mismatch): ConfigProblem | null {
  if (key === null) return null;
  const path = [...parent, key];
  const properties = (schema['properties'] ?? {}) as { readonly [key: string]: JsonObject };
  if (keyword === 'required') {
    const message = `is missing; it must be ${expectedOf(properties[key] ?? {})}`;
    return { place: placesAt(root, parent).value, path, message };
  }
  const message =
    keyword === 'additionalProperties'
      ? `is not a known key${hint(key, Object.keys(properties), 'keys')}`
      : keyword === 'dependencies'
        ? `needs ${quoted(needsOf(schema)[key]!).join(' and ')} as well`
        : `cannot be a key here; it must be ${expectedOf((schema['propertyNames'] ?? {}) as JsonObject)}`;
  return { place: placesAt(root, path).key, path, message };
}

/** The problem of a value. One problem per value is reported, because its message says everything that the schema expects. */
function valueProblem(root: SourceNode, { path, keyword, schema }: Mismatch): ConfigProblem | null {
  const node = nodeAt(root, ...path);
  if (node === undefined) return null;
  if (keyword === 'oneOf' && node.kind === 'map') {
    const keys = choiceOf(schema);
    const found = keys.filter(key => node.entries.has(key));
    const all = quoted(keys).join(', ');
    const message =
      found.length === 0
        ? `has none of ${all}; it must have exactly one`
        : `has ${quoted(found).join(' and ')}; it must have exactly one of ${all}`;
    return { place: node.place, path, message };
  }
  const message = `${wrongness(node, schema)}; it must be ${expectedOf(schema)}${advice(node, schema)}`;
  return { place: node.place, path, message };
}

function wrongness(node: SourceNode, schema: JsonObject): string {
  if (node.kind !== 'scalar') return `is ${describeKind(node)}`;
  if (node.value === null) return 'is empty';
  if (node.value === '') return 'is an empty string';
  // A scalar in place of a map or list is not shown, because it can be a misplaced secret.
  if (schema['type'] === 'object' || schema['type'] === 'array') return `is ${describeKind(node)}`;
  const kind = typeof node.value === 'string' ? 'not valid' : `a ${typeof node.value}`;
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

/** Describes the keys that a map can have, for example `event; one of path with op, all, any; optional: values`. */
function keysOf(schema: JsonObject): string {
  const { properties = {}, required = [] } = schema;
  const needs = needsOf(schema);
  const choice = choiceOf(schema);
  const listed = [...(required as readonly string[]), ...choice, ...choice.flatMap(key => needs[key] ?? [])];
  const others = Object.keys(properties as JsonObject).filter(key => !listed.includes(key));
  const forms = choice.map(key => [key, ...(needs[key] ?? [])].join(' with '));
  return [
    (required as readonly string[]).join(', '),
    forms.length === 0 ? '' : `one of ${forms.join(', ')}`,
    others.length === 0 ? '' : `optional: ${others.join(', ')}`,
  ]
    .filter(part => part !== '')
    .join('; ');
}

/** For each key, the other keys that it requires. */
function needsOf({ dependencies = {} }: JsonObject): { readonly [key: string]: readonly string[] } {
  return dependencies as { readonly [key: string]: readonly string[] };
}

/** The keys of which a map must have exactly one. */
function choiceOf({ oneOf = [] }: JsonObject): string[] {
  return (oneOf as readonly { readonly required: readonly string[] }[]).flatMap(({ required }) => required);
}

function quoted(keys: readonly string[]): string[] {
  return keys.map(key => JSON.stringify(key));
}

function advice(node: SourceNode, schema: JsonObject): string {
  if (node.kind !== 'scalar' || node.value === null || node.value === '') return '';
  const { type, pattern } = schema;
  if (typeof node.value !== 'string') {
    const fits = typeof pattern !== 'string' || new RegExp(pattern).test(node.written);
    return type === 'string' && fits && !Array.isArray(schema['enum']) ? '; put it in quotes' : '';
  }
  const isNumeric = type === 'integer' && /^[0-9]+$/.test(node.value);
  if ((isNumeric || (type === 'boolean' && /^(true|false)$/.test(node.value))) && !node.plain) {
    return '; remove the quotes';
  }
  const values = schema['enum'];
  return Array.isArray(values) ? didYouMean(node.value, values as string[]) : '';
}
