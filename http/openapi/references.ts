// Moves JSON Schemas into a larger document. Definitions become components, references become pointers from the root, and `$id` and
// `$anchor` are dropped, so that tools need not support them.
import { isObject } from '../../runtime/json-value.ts';
import type { Json, JsonObject } from '../../runtime/packing.ts';

/** The type of each keyword's value: one schema, a list or map of schemas, or plain data. */
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
const defining = ['$defs', 'definitions'];

/** The prefix of references to components. A name follows, and possibly a pointer into that component. */
const components = '#/components/schemas/';

export type Embedded = {
  /** Replaces the schema: the schema itself, or a reference to its component. */
  readonly schema: JsonObject;
  /** The components that it refers to, by name. */
  readonly components: { readonly [name: string]: JsonObject };
};

/** Converts a schema for a document of dialect 2020-12 in which `name` and `name.…` are free. */
export function embedSchema(schema: JsonObject, name: string): Embedded {
  const places = placesOf(schema, name);
  const names = namesOf(places);
  const roots = new Map(places.flatMap(place => (place.component === null ? [] : [[place.component, place] as const])));
  const wanted = new Set([name]);
  const used = new Set<string>();
  const resolve = (reference: string, base: string): string => {
    const pointer = names.get(canonical(reference, base) ?? '');
    if (pointer === undefined) return reference;
    const component = pointer.slice(components.length).split('/')[0]!;
    wanted.add(component);
    used.add(component);
    return pointer;
  };
  const isOld = isOldDialect(schema);
  const found: { [name: string]: JsonObject } = {};
  // The list grows during the loop: a definition may refer to others.
  for (const component of wanted) {
    const { value, above } = roots.get(component)!;
    found[component] = rewrite(value, above, { isOld, resolve });
  }
  if (used.has(name)) return { schema: { $ref: components + name }, components: found };
  const { [name]: whole, ...others } = found;
  return { schema: whole!, components: others };
}

/** Drafts 6 and 7 ignore keywords beside `$ref` and allow a list in `items`. */
function isOldDialect(schema: JsonObject): boolean {
  return typeof schema['$schema'] === 'string' && /draft-0[67]/.test(schema['$schema']);
}

/** The base of a schema that has no `$id`. */
const whole = 'schema://input/';

type Resource = { readonly base: string; readonly pointer: string };
type SchemaPlace = {
  readonly value: Json;
  /** The base URI of its parent. */
  readonly above: string;
  /** The resources that contain it, innermost first, with its pointer in each. */
  readonly resources: readonly Resource[];
  /** Its pointer in the new document. */
  readonly pointer: string;
  /** Its name, if it becomes a component. */
  readonly component: string | null;
};

/** The schema and all schemas within it, outermost first. */
function placesOf(schema: JsonObject, name: string): SchemaPlace[] {
  const isOld = isOldDialect(schema);
  const found: SchemaPlace[] = [];
  const taken = new Set<string>();

  function visit(value: Json, outer: readonly Resource[], pointer: string, component: string | null): void {
    if (!isObject(value) && typeof value !== 'boolean') return;
    const above = outer[0]?.base ?? whole;
    const base = isObject(value) ? baseWithin(value, above) : above;
    const resources = base === above && outer.length > 0 ? outer : [{ base, pointer: '' }, ...outer];
    found.push({ value, above, resources, pointer, component });
    if (!isObject(value)) return;
    const enter = (inner: Json, was: string, to: string, as: string | null = null): void => {
      const moved = resources.map(resource => ({ base: resource.base, pointer: resource.pointer + was }));
      visit(inner, moved, to, as);
    };
    for (const [keyword, content] of Object.entries(value)) {
      const kind = contents.get(keyword);
      const was = `/${escaped(keyword)}`;
      const to = `${pointer}/${fragment(newKeyword(keyword, value, isOld))}`;
      if (kind === 'value') continue;
      if (Array.isArray(content)) content.forEach((item: Json, n) => void enter(item, `${was}/${n}`, `${to}/${n}`));
      else if (kind !== 'map') enter(content, was, to);
      else if (isObject(content)) {
        for (const [key, item] of Object.entries(content)) {
          const as = defining.includes(keyword) ? unused(`${component ?? name}.${key}`, taken) : null;
          enter(item, `${was}/${escaped(key)}`, as === null ? `${to}/${fragment(key)}` : components + as, as);
        }
      }
    }
  }

  visit(schema, [], components + name, name);
  return found;
}

/** A valid component name that is not yet used. */
function unused(name: string, taken: Set<string>): string {
  const fit = name.replace(/[^\w.-]/g, '_');
  let free = fit;
  for (let n = 2; taken.has(free); n++) free = `${fit}_${n}`;
  taken.add(free);
  return free;
}

/** Maps every URI of a part of the schema to its pointer in the document. */
function namesOf(places: readonly SchemaPlace[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const add = (reference: string, base: string, to: string): void => {
    const name = canonical(reference, base);
    if (name !== null && !names.has(name)) names.set(name, to);
  };
  for (const { value, resources, pointer: to } of places) {
    const { base } = resources[0]!;
    for (const { base, pointer } of resources) add(`#${encodeURIComponent(pointer)}`, base, to);
    if (!isObject(value)) continue;
    const { $anchor, $dynamicAnchor, $id } = value;
    if (typeof $anchor === 'string') add(`#${$anchor}`, base, to);
    if (typeof $dynamicAnchor === 'string') add(`#${$dynamicAnchor}`, base, to);
    // In draft 7 this is an anchor.
    if (typeof $id === 'string' && $id.startsWith('#')) add($id, base, to);
  }
  return names;
}

/** The absolute form of a reference, with its fragment unescaped. */
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

/** The base URI of references within the schema. */
function baseWithin(schema: JsonObject, above: string): string {
  const id = schema['$id'];
  if (typeof id !== 'string' || id.startsWith('#')) return above;
  try {
    return new URL(id.replace(/#.*$/, ''), above).href;
  } catch {
    return above;
  }
}

/** Translates a list in `items` (draft 7) to `prefixItems` (2020-12). */
function newKeyword(keyword: string, schema: JsonObject, isOld: boolean): string {
  if (!isOld || !Array.isArray(schema['items'])) return keyword;
  return keyword === 'items' ? 'prefixItems' : keyword === 'additionalItems' ? 'items' : keyword;
}

type Rewriting = { readonly isOld: boolean; resolve(reference: string, base: string): string };

/** A component must be an object, so the schemas true and false are rewritten. */
function rewrite(schema: Json, above: string, how: Rewriting): JsonObject {
  if (!isObject(schema)) return schema === false ? { not: {} } : {};
  const base = baseWithin(schema, above);
  const within = (value: Json): Json => (isObject(value) ? rewrite(value, base, how) : value);
  const entries = Object.entries(schema).flatMap(([keyword, value]): (readonly [string, Json])[] => {
    if (defining.includes(keyword) || (naming.includes(keyword) && typeof value === 'string')) return [];
    if (referring.includes(keyword) && typeof value === 'string') return [['$ref', how.resolve(value, base)]];
    if (how.isOld && '$ref' in schema) return [];
    if (how.isOld && keyword === 'additionalItems' && !Array.isArray(schema['items'])) return [];
    // JSON has no infinity, and an infinite bound has no effect.
    if (typeof value === 'number' && !Number.isFinite(value)) return [];
    const name = newKeyword(keyword, schema, how.isOld);
    const kind = contents.get(keyword);
    if (kind === 'value') return [[name, value]];
    if (Array.isArray(value)) return [[name, value.map(within)]];
    if (kind !== 'map' || !isObject(value)) return [[name, within(value)]];
    return [[name, Object.fromEntries(Object.entries(value).map(([key, item]) => [key, within(item)]))]];
  });
  return Object.fromEntries(entries);
}

/** A key as a part of a JSON Pointer. */
function escaped(key: string): string {
  // An unpaired surrogate cannot be escaped in a fragment.
  return key
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replace(/\p{Surrogate}/gu, '\ufffd');
}

/** A key as a part of a pointer in a fragment. */
function fragment(key: string): string {
  return encodeURI(escaped(key)).replaceAll('#', '%23');
}
