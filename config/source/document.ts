// Parses YAML into a source tree, in which each key and value has its location in the file. Except for tests, only this file imports yaml.
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  Schema,
  visit,
  type YAMLError,
} from 'yaml';
import { type ConfigProblem, formatPlace } from '../check/problem.ts';
import type { ListNode, MapEntry, MapNode, NodePath, ScalarNode, SourceLocation, SourceNode } from './tree.ts';

const depthMax = 64;
// The maximum number of nodes of a document. A few bytes of aliases could expand to any number.
const nodesMax = 200_000;

/** The tags of ordered maps and lists of pairs. */
const pairsTag = /^tag:yaml\.org,2002:(omap|pairs)$/;

export type ParsedDocument = { readonly root: SourceNode | null; readonly problems: readonly ConfigProblem[] };

/** Parses a file into a source tree, and collects problems. Never throws, whatever the bytes are. `root` is null if the file is empty or broken. */
export function parseTree(file: string, bytes: Uint8Array): ParsedDocument {
  const start: SourceLocation = { file, line: 1, column: 1 };
  const refuse = (message: string): ParsedDocument => ({
    root: null,
    problems: [{ place: start, path: [], message }],
  });
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse('is not UTF-8 text; save the file as UTF-8');
  }
  try {
    return convert(file, text);
  } catch (error) {
    if (error instanceof TooLarge) return refuse(error.message);
    if (error instanceof RangeError) return refuse('is nested too deeply to be read');
    return refuse(`cannot be parsed as YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

class TooLarge extends Error {}

function convert(file: string, text: string): ParsedDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error',
  });
  const placeAt = (offset: number): SourceLocation => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const errors = [...document.errors, ...document.warnings];
  if (errors.length > 0) return { root: null, problems: syntaxProblems(errors, placeAt, text) };
  const problems: ConfigProblem[] = [];
  const converter = new Converter(placeAt, text, targetsOf(document), problems);
  return { root: document.contents === null ? null : converter.node(document.contents, []), problems };
}

/** The node that each alias stands for: the last node before the alias with its anchor. Aliases without one are missing. */
function targetsOf(document: Document): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Value: (_, node) => void (node.anchor !== undefined && anchors.set(node.anchor, node)),
    Alias: (_, alias) => {
      const target = anchors.get(alias.source);
      if (target !== undefined) targets.set(alias, target);
    },
  });
  return targets;
}

/** The first syntax error of each line, as a problem. Further errors on the same line are usually its consequences. */
function syntaxProblems(
  errors: readonly YAMLError[],
  placeAt: (offset: number) => SourceLocation,
  text: string,
): ConfigProblem[] {
  const byLine = new Map<number, ConfigProblem>();
  for (const error of errors) {
    const place = placeAt(error.pos[0]);
    const line = text.split('\n', place.line)[place.line - 1] ?? '';
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how variables are written
    const advice = /[[{,:]\s*\$\{/.test(line) ? '; inside { } and [ ] write "${NAME}" in quotes' : '';
    const several = error.code === 'MULTIPLE_DOCS';
    const wrong = several ? 'contains more than one document; keep one' : `is not valid YAML: ${error.message}`;
    const problem: ConfigProblem = { place, path: [], message: `${wrong}${advice}` };
    byLine.set(place.line, byLine.get(place.line) ?? problem);
  }
  return [...byLine.values()];
}

class Converter {
  readonly #placeAt: (offset: number) => SourceLocation;
  readonly #text: string;
  readonly #problems: ConfigProblem[];
  readonly #targets: ReadonlyMap<Alias, Node>;
  #nodes = 0;

  constructor(
    placeAt: (offset: number) => SourceLocation,
    text: string,
    targets: ReadonlyMap<Alias, Node>,
    problems: ConfigProblem[],
  ) {
    this.#placeAt = placeAt;
    this.#text = text;
    this.#targets = targets;
    this.#problems = problems;
  }

  node(node: unknown, path: NodePath, fallback?: SourceLocation): SourceNode {
    if (++this.#nodes > nodesMax) throw new TooLarge(`has more than ${nodesMax} values, counting what aliases repeat`);
    if (path.length > depthMax) throw new TooLarge(`is nested deeper than ${depthMax} levels`);
    const place = this.#place(node, fallback);
    if (!isNode(node)) return emptyScalar(place);
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      if (target !== undefined) return this.node(target, path);
      this.#problems.push({ place, path, message: `*${node.source} refers to no anchor before it` });
      return emptyScalar(place);
    }
    const [, tag] = pairsTag.exec(node.tag ?? '') ?? [];
    if (tag !== undefined) {
      this.#problems.push({ place, path, message: `!!${tag} is not supported; write a map, or a list of maps` });
      return emptyScalar(place);
    }
    if (isMap(node)) return this.#map(node.items, place, path);
    if (isScalar(node)) return this.#scalar(node, place);
    const items = node.items.map((item, index) => this.node(item, [...path, index], place));
    return { kind: 'list', place, items } satisfies ListNode;
  }

  #map(pairs: readonly { key: unknown; value: unknown }[], place: SourceLocation, path: NodePath): MapNode {
    const entries = new Map<string, MapEntry>();
    for (const pair of pairs) {
      const keyPlace = this.#place(pair.key, place);
      const key = keyOf(pair.key);
      const value = this.node(pair.value, [...path, key ?? ''], keyPlace);
      const known = key === undefined ? undefined : entries.get(key);
      if (key === undefined || key === '__proto__') {
        const message = key === undefined ? 'a key must be text' : '__proto__ cannot be a key; choose another name';
        this.#problems.push({ place: keyPlace, path, message });
      } else if (isMergeKey(pair.key)) {
        const message = 'merge keys (<<) are not supported; repeat the keys, or put "<<" in quotes';
        this.#problems.push({ place: keyPlace, path, message });
      } else if (known !== undefined) {
        const message = `is already set at ${formatPlace(known.keyPlace)}; keep one of the two`;
        this.#problems.push({ place: keyPlace, path: [...path, key], message });
      } else {
        entries.set(key, { keyPlace, value });
      }
    }
    return { kind: 'map', place, entries };
  }

  #scalar(
    node: { value: unknown; type?: string; range?: unknown; source?: string },
    place: SourceLocation,
  ): ScalarNode {
    const range = node.range as readonly number[] | undefined;
    const written = range === undefined ? String(node.value) : this.#text.slice(range[0], range[1]);
    const plain = node.type === undefined || node.type === 'PLAIN';
    return { kind: 'scalar', place, value: scalarValue(node.value, node.source ?? written), written, plain };
  }

  #place(node: unknown, fallback?: SourceLocation): SourceLocation {
    const range = (node as { range?: readonly number[] } | null)?.range;
    return range?.[0] === undefined ? (fallback ?? this.#placeAt(0)) : this.#placeAt(range[0]);
  }
}

function keyOf(node: unknown): string | undefined {
  if (!isScalar(node) || node.value === null) return undefined;
  return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
}

/** Whether the key is `<<` without quotes. YAML 1.1 merges the maps that are the value of this key. */
function isMergeKey(node: unknown): boolean {
  return isScalar(node) && node.type === 'PLAIN' && node.source === '<<';
}

function emptyScalar(place: SourceLocation): ScalarNode {
  return { kind: 'scalar', place, value: null, written: '', plain: true };
}

/** The value of a scalar in a form that JSON can hold. Infinity and NaN become text, as they were written. */
function scalarValue(value: unknown, source: string): ScalarNode['value'] {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? value : source;
}

const core = new Schema({ schema: 'core' });

/** The value that this text has as an unquoted scalar in YAML. */
export function typedScalar(text: string): ScalarNode['value'] {
  for (const tag of core.tags) {
    if (!('test' in tag) || tag.default !== true || !tag.test?.test(text)) continue;
    if (!('resolve' in tag) || tag.resolve === undefined) continue;
    const resolve = tag.resolve as (text: string, onError: () => void, options: object) => unknown;
    const resolved = resolve(text, () => {}, {});
    return scalarValue(isScalar(resolved) ? resolved.value : resolved, text);
  }
  return text;
}
