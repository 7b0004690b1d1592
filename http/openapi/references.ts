// References of a JSON Schema that moves into a larger document: each is turned into a pointer from that document's root, and what
// names the schema's parts by other means ($id, $anchor) is dropped, so that no tool needs to know those.
import type { Json, JsonObject } from '../../runtime/packing.ts';

/** What the keywords of a schema hold. */
const single = ['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'items', 'additionalItems']
  .concat(['contains', 'propertyNames', 'not', 'if', 'then', 'else', 'contentSchema'])
  .map(keyword => [keyword, 'schema'] as const);
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'].map(keyword => [keyword, 'schemas'] as const);
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'].map(
  keyword => [keyword, 'map'] as const,
);
const values = ['const', 'enum', 'default', 'examples', 'example', 'required', 'type', 'dependentRequired'].map(
  keyword => [keyword, 'value'] as const,
);
const contents = new Map<string, 'schema' | 'schemas' | 'map' | 'value'>([...single, ...lists, ...maps, ...values]);

const referring = ['$ref', '$dynamicRef'];
const naming = ['$id', '$anchor', '$dynamicAnchor', '$schema', '$comment'];

/** Whether anything in it refers to another place. */
export function hasReferences(schema: JsonObject): boolean {
  let found = false;
  walk(schema, '', keywords => {
    found ||= referring.some(keyword => typeof keywords[keyword] === 'string');
  });
  return found;
}

/** The schema as it stands at `place` (`#/components/schemas/x`) of a document of dialect 2020-12. */
export function embedSchema(schema: JsonObject, place: string): JsonObject {
  const isOld = typeof schema['$schema'] === 'string' && /draft-0[67]/.test(schema['$schema']);
  const names = namesOf(schema);
  return rewrite(schema, whole, { isOld, resolve: (reference, base) => resolve(reference, base, names, place) });
}

/** The base of a schema that has no `$id`. */
const whole = 'schema://input/';

/** Absolute URI, without an empty fragment → pointer from the root of the schema. */
type Names = ReadonlyMap<string, string>;

function namesOf(schema: JsonObject): Names {
  const names = new Map<string, string>([[whole, '']]);
  const bases = new Map<string, string>();
  walk(schema, '', (keywords, pointer, above) => {
    let base = above === null ? whole : (bases.get(above) ?? whole);
    const id = keywords['$id'];
    if (typeof id === 'string') {
      const name = absolute(id, base);
      if (name !== null && !names.has(name)) names.set(name, pointer);
      if (name !== null && !name.includes('#')) base = name;
    }
    bases.set(pointer, base);
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      const anchor = keywords[keyword];
      const name = typeof anchor === 'string' ? absolute(`#${anchor}`, base) : null;
      if (name !== null) names.set(name, pointer);
    }
  });
  return names;
}

function resolve(reference: string, base: string, names: Names, place: string): string {
  const target = absolute(reference, base);
  if (target === null) return reference;
  const named = names.get(target);
  if (named !== undefined) return place + named;
  const [resource, fragment = ''] = target.split('#');
  const root = names.get(resource!);
  return root === undefined || (fragment !== '' && !fragment.startsWith('/')) ? reference : place + root + fragment;
}

function absolute(reference: string, base: string): string | null {
  try {
    return new URL(reference, base).href.replace(/#$/, '');
  } catch {
    return null;
  }
}

type Rewriting = {
  /** Draft 6 or 7: what stands beside `$ref` does not count, and `items` may be a list. */
  readonly isOld: boolean;
  resolve(reference: string, base: string): string;
};

function rewrite(schema: JsonObject, above: string, how: Rewriting): JsonObject {
  const id = schema['$id'];
  const named = typeof id === 'string' ? absolute(id, above) : null;
  const base = named === null || named.includes('#') ? above : named;
  const within = (value: Json): Json => (isMap(value) ? rewrite(value, base, how) : value);
  const entries = Object.entries(schema).flatMap(([keyword, value]): (readonly [string, Json])[] => {
    if (naming.includes(keyword) && typeof value === 'string') return [];
    if (referring.includes(keyword) && typeof value === 'string') return [['$ref', how.resolve(value, base)]];
    if (how.isOld && '$ref' in schema && contents.get(keyword) !== 'map') return [];
    if (typeof value === 'number' && !Number.isFinite(value)) return [];
    if (how.isOld && keyword === 'items' && Array.isArray(value)) return [['prefixItems', value.map(within)]];
    if (how.isOld && keyword === 'additionalItems')
      return Array.isArray(schema['items']) ? [['items', within(value)]] : [];
    switch (contents.get(keyword)) {
      case 'value':
        return [[keyword, value]];
      case 'map':
        return [[keyword, isMap(value) ? mapValues(value, within) : value]];
      default:
        return [[keyword, Array.isArray(value) ? value.map(within) : within(value)]];
    }
  });
  return Object.fromEntries(entries);
}

type Visit = (keywords: JsonObject, pointer: string, above: string | null) => void;

/** Every schema in it, from the outside in, with its pointer and that of the schema around it. */
function walk(schema: JsonObject, pointer: string, visit: Visit, above: string | null = null): void {
  visit(schema, pointer, above);
  const within = (value: Json, at: string): void => {
    if (isMap(value)) walk(value, at, visit, pointer);
  };
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = contents.get(keyword);
    const at = `${pointer}/${segment(keyword)}`;
    if (kind === 'value') continue;
    if (Array.isArray(value)) value.forEach((item: Json, index) => void within(item, `${at}/${index}`));
    else if (!isMap(value)) continue;
    else if (kind === 'map') for (const [key, item] of Object.entries(value)) within(item, `${at}/${segment(key)}`);
    else within(value, at);
  }
}

/** A key as a part of a pointer in a fragment. */
function segment(key: string): string {
  const escaped = key.replaceAll('~', '~0').replaceAll('/', '~1');
  // Half of a surrogate pair has no escape.
  return encodeURI(escaped.replace(/\p{Surrogate}/gu, '\ufffd')).replaceAll('#', '%23');
}

function mapValues(map: JsonObject, change: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)] as const));
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
