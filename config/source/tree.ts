// The source tree: the content of YAML files as nodes, in which every key and value has its location.
import type { Json } from '../../runtime/packing.ts';

/** A location in a file. Line and column count from 1. */
export type SourceLocation = { readonly file: string; readonly line: number; readonly column: number };
/** The path to a node: the keys and indexes from the root. `pipelines[0].steps` is `['pipelines', 0, 'steps']`. */
export type NodePath = readonly (string | number)[];

export type ScalarNode = {
  readonly kind: 'scalar';
  readonly place: SourceLocation;
  readonly value: null | boolean | number | string;
  /** The text in the file, before interpolation. Messages show this form, because the value of a variable can be a secret. */
  readonly written: string;
  /**
   * Whether this is a plain scalar of YAML, without quotes. The type of a plain scalar is determined again after
   * interpolation.
   */
  readonly plain: boolean;
  /** True: a variable in the text could not be replaced. This is reported, so nothing else needs to be reported of the value. */
  readonly isUnresolved?: true;
};
export type ListNode = { readonly kind: 'list'; readonly place: SourceLocation; readonly items: readonly SourceNode[] };
export type MapEntry = { readonly keyPlace: SourceLocation; readonly value: SourceNode };
export type MapNode = {
  readonly kind: 'map';
  readonly place: SourceLocation;
  readonly entries: ReadonlyMap<string, MapEntry>;
};
export type SourceNode = ScalarNode | ListNode | MapNode;

export function emptyMap(place: SourceLocation): MapNode {
  return { kind: 'map', place, entries: new Map() };
}

export function isEmptyNode(node: SourceNode): boolean {
  return node.kind === 'scalar' && node.value === null;
}

/** The kind of a node in words, such as `a map`, `an empty list` or `a single value`. */
export function describeKind(node: SourceNode): string {
  if (node.kind === 'scalar') return 'a single value';
  if (node.kind === 'list') return node.items.length === 0 ? 'an empty list' : 'a list';
  return node.entries.size === 0 ? 'an empty map' : 'a map';
}

export function nodeAt(node: SourceNode | undefined, ...path: NodePath): SourceNode | undefined {
  let here = node;
  for (const key of path) {
    if (here?.kind === 'map') here = here.entries.get(String(key))?.value;
    else if (here?.kind === 'list') here = here.items[Number(key)];
    else return undefined;
  }
  return here;
}

/** The locations of the key and the value at a path. If the path does not exist, both are the location of its deepest ancestor that exists. */
export function placesAt(root: SourceNode, path: NodePath): { key: SourceLocation; value: SourceLocation } {
  let here = root;
  let key = root.place;
  for (const step of path) {
    const entry = here.kind === 'map' ? here.entries.get(String(step)) : undefined;
    const next = entry?.value ?? (here.kind === 'list' ? here.items[Number(step)] : undefined);
    if (next === undefined) return { key: here.place, value: here.place };
    key = entry?.keyPlace ?? next.place;
    here = next;
  }
  return { key, value: here.place };
}

/** The text at a path below a node. Undefined: there is no text. The functions below read other kinds of values in the same way. */
export function textOf(from: SourceNode | undefined, ...path: NodePath): string | undefined {
  const node = nodeAt(from, ...path);
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
}

export function numberOf(from: SourceNode | undefined, ...path: NodePath): number | undefined {
  const node = nodeAt(from, ...path);
  return node?.kind === 'scalar' && typeof node.value === 'number' ? node.value : undefined;
}

export function flagOf(from: SourceNode | undefined, ...path: NodePath): boolean | undefined {
  const node = nodeAt(from, ...path);
  return node?.kind === 'scalar' && typeof node.value === 'boolean' ? node.value : undefined;
}

export function itemsOf(from: SourceNode | undefined, ...path: NodePath): readonly SourceNode[] {
  const node = nodeAt(from, ...path);
  return node?.kind === 'list' ? node.items : [];
}

export function entriesOf(from: SourceNode | undefined, ...path: NodePath): readonly (readonly [string, MapEntry])[] {
  const node = nodeAt(from, ...path);
  return node?.kind === 'map' ? [...node.entries] : [];
}

/** The texts of a list. Other items are left out; the shape check reports them. */
export function textsOf(from: SourceNode | undefined, ...path: NodePath): string[] {
  return itemsOf(from, ...path).flatMap(item => textOf(item) ?? []);
}

/** The value of a node, without locations. No key in it is `__proto__`, which `parseTree` refuses. */
export function plainValue(node: SourceNode): Json {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plainValue);
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, plainValue(entry.value)]));
}
