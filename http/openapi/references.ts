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
  return placesOf(schema).some(({ keywords }) => referring.some(keyword => typeof keywords[keyword] === 'string'));
}

/** The schema as it stands at `place` (`#/components/schemas/x`) of a document of dialect 2020-12. */
export function embedSchema(schema: JsonObject, place: string): JsonObject {
  const names = namesOf(placesOf(schema), place);
  return rewrite(schema, whole, {
    isOld: isOldDialect(schema),
    resolve: (reference, base) => names.get(canonical(reference, base) ?? '') ?? reference,
  });
}

/** Draft 6 or 7: what stands beside `$ref` does not count, and `items` may be a list. */
function isOldDialect(schema: JsonObject): boolean {
  return typeof schema['$schema'] === 'string' && /draft-0[67]/.test(schema['$schema']);
}

/** The base of a schema that has no `$id`. */
const whole = 'schema://input/';

/** Every way to name a part of the schema → its pointer in the document. */
function namesOf(places: readonly Place[], root: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const add = (reference: string, base: string, to: string): void => {
    const name = canonical(reference, base);
    if (name !== null && !names.has(name)) names.set(name, to);
  };
  for (const { keywords, resources, path } of places) {
    const to = root + path;
    for (const { base, pointer } of resources) add(`#${encodeURIComponent(pointer)}`, base, to);
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      if (typeof keywords[keyword] === 'string') add(`#${keywords[keyword]}`, resources[0]!.base, to);
    }
    // Draft 7 writes anchors so.
    if (typeof keywords['$id'] === 'string' && keywords['$id'].startsWith('#'))
      add(keywords['$id'], resources[0]!.base, to);
  }
  return names;
}

/** The absolute form of a reference, its fragment without escapes. */
function canonical(reference: string, base: string): string | null {
  try {
    const url = new URL(reference, base);
    const fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = '';
    return `${url.href.replace(/#$/, '')}#${fragment}`;
  } catch {
    return null;
  }
}

/** The base for what lies within the schema. */
function baseWithin(schema: JsonObject, above: string): string {
  const id = schema['$id'];
  if (typeof id !== 'string' || id.startsWith('#')) return above;
  try {
    return new URL(id.replace(/#.*$/, ''), above).href;
  } catch {
    return above;
  }
}

type Resource = { readonly base: string; readonly pointer: string };
type Place = {
  readonly keywords: JsonObject;
  /** The resources that it is part of, the innermost first, and where in each it was. */
  readonly resources: readonly Resource[];
  /** Where it is once rewritten, as the end of a fragment. */
  readonly path: string;
};

/** Every schema in it, from the outside in. */
function placesOf(schema: JsonObject): Place[] {
  const isOld = isOldDialect(schema);
  const found: Place[] = [];
  const visit = (keywords: JsonObject, above: readonly Resource[], path: string): void => {
    const outer = above[0]?.base ?? whole;
    const base = baseWithin(keywords, outer);
    const resources = base === outer && above.length > 0 ? above : [{ base, pointer: '' }, ...above];
    found.push({ keywords, resources, path });
    const within = (value: Json, was: string, is: string): void => {
      if (!isMap(value)) return;
      visit(
        value,
        resources.map(resource => ({ ...resource, pointer: resource.pointer + was })),
        path + is,
      );
    };
    for (const [keyword, value] of Object.entries(keywords)) {
      const was = `/${escaped(keyword)}`;
      const is = `/${fragment(newKeyword(keyword, keywords, isOld))}`;
      const kind = contents.get(keyword);
      if (kind === 'value') continue;
      if (Array.isArray(value)) value.forEach((item: Json, n) => void within(item, `${was}/${n}`, `${is}/${n}`));
      else if (kind !== 'map') within(value, was, is);
      else if (isMap(value)) {
        const keys = newKeys(keyword, value);
        for (const [key, item] of Object.entries(value)) {
          within(item, `${was}/${escaped(key)}`, `${is}/${fragment(keys.get(key)!)}`);
        }
      }
    }
  };
  visit(schema, [], '');
  return found;
}

/** What draft 7 says with `items` as a list, 2020-12 says with other words. */
function newKeyword(keyword: string, schema: JsonObject, isOld: boolean): string {
  if (!isOld || !Array.isArray(schema['items'])) return keyword;
  return keyword === 'items' ? 'prefixItems' : keyword === 'additionalItems' ? 'items' : keyword;
}

/** Definitions get names that fit where tools take them for components; fields keep theirs. */
function newKeys(keyword: string, map: JsonObject): ReadonlyMap<string, string> {
  const keys = Object.keys(map);
  if (keyword !== '$defs' && keyword !== 'definitions') return new Map(keys.map(key => [key, key] as const));
  const taken = new Set(keys);
  return new Map(
    keys.map(key => {
      if (/^[\w.-]+$/.test(key)) return [key, key] as const;
      const fit = key.replace(/[^\w.-]/g, '_');
      let unused = fit;
      for (let n = 2; taken.has(unused) || unused === ''; n++) unused = `${fit}_${n}`;
      taken.add(unused);
      return [key, unused] as const;
    }),
  );
}

type Rewriting = { readonly isOld: boolean; resolve(reference: string, base: string): string };

function rewrite(schema: JsonObject, above: string, how: Rewriting): JsonObject {
  const base = baseWithin(schema, above);
  const within = (value: Json): Json => (isMap(value) ? rewrite(value, base, how) : value);
  const entries = Object.entries(schema).flatMap(([keyword, value]): (readonly [string, Json])[] => {
    if (naming.includes(keyword) && typeof value === 'string') return [];
    if (referring.includes(keyword) && typeof value === 'string') return [['$ref', how.resolve(value, base)]];
    if (how.isOld && '$ref' in schema && contents.get(keyword) !== 'map') return [];
    if (how.isOld && keyword === 'additionalItems' && !Array.isArray(schema['items'])) return [];
    // JSON has no infinity: such a bound bounds nothing.
    if (typeof value === 'number' && !Number.isFinite(value)) return [];
    const name = newKeyword(keyword, schema, how.isOld);
    const kind = contents.get(keyword);
    if (kind === 'value') return [[name, value]];
    if (Array.isArray(value)) return [[name, value.map(within)]];
    if (kind !== 'map' || !isMap(value)) return [[name, within(value)]];
    const keys = newKeys(keyword, value);
    return [[name, Object.fromEntries(Object.entries(value).map(([key, item]) => [keys.get(key)!, within(item)]))]];
  });
  return Object.fromEntries(entries);
}

/** A key as a part of a JSON Pointer. */
function escaped(key: string): string {
  // Half of a surrogate pair has no escape in a fragment.
  return key
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replace(/\p{Surrogate}/gu, '\ufffd');
}

/** A key as a part of a pointer in a fragment. */
function fragment(key: string): string {
  return encodeURI(escaped(key)).replaceAll('#', '%23');
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
