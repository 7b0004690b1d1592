// Moves JSON Schemas into a larger document. Definitions become components, references within the schema become pointers from the root, and `$id` and
// `$anchor` are dropped, so tools need not support these keywords.
import { isObject } from '../../runtime/json-value.ts';
import type { Json, JsonObject } from '../../runtime/packing.ts';
import { isOldDraft, keywordContents } from '../../runtime/schema-keywords.ts';

const referring = ['$ref', '$dynamicRef'];
const naming = ['$id', '$anchor', '$dynamicAnchor', '$schema', '$comment'];
const defining = ['$defs', 'definitions'];

/** The prefix of a reference to a component. The component's name follows, and possibly a pointer into the component. */
const components = '#/components/schemas/';

type Components = { readonly [name: string]: JsonObject };

export type Embedded = {
  /** The replacement of the schema: the converted schema, or a reference to its component. */
  readonly schema: JsonObject;
  /** The components to which `schema` refers, directly or through other components, by name. */
  readonly components: Components;
};

/**
 * Converts a schema for an OpenAPI document (dialect 2020-12). The names of its components begin with `wantedName` and are not among those in
 * `existing`, the components that the document already has.
 */
export function embedSchema(schema: JsonObject, wantedName: string, existing: Components = {}): Embedded {
  const name = unused(wantedName, new Set(), existing);
  const places = placesOf(schema, name, existing);
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
  const isOld = isOldDraft(schema);
  const found: { [name: string]: JsonObject } = {};
  // `wanted` grows during the loop, because a definition may refer to others.
  for (const component of wanted) {
    const { value, above } = roots.get(component)!;
    found[component] = rewrite(value, above, { isOld, resolve });
  }
  if (used.has(name)) return { schema: { $ref: components + name }, components: found };
  const { [name]: whole, ...others } = found;
  return { schema: whole!, components: others };
}

/** The base URI of a schema that has no `$id`. */
const whole = 'schema://input/';

type Resource = { readonly base: string; readonly pointer: string };
type SchemaPlace = {
  readonly value: Json;
  /** The base URI of the schema around this one. */
  readonly above: string;
  /**
   * This schema and those around it, as far as each begins a new base URI (the outermost always does), innermost first. `pointer` leads from each to
   * this schema.
   */
  readonly resources: readonly Resource[];
  /** The schema's pointer in the new document. */
  readonly pointer: string;
  /** The name of the component that the schema becomes; null if the schema does not become a component. */
  readonly component: string | null;
};

/** The schema and all schemas within it, outer ones first. */
function placesOf(schema: JsonObject, name: string, existing: Components): SchemaPlace[] {
  const isOld = isOldDraft(schema);
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
      const kind = keywordContents.get(keyword);
      const was = `/${escaped(keyword)}`;
      const to = `${pointer}/${fragment(newKeyword(keyword, value, isOld))}`;
      if (kind === 'value') continue;
      if (Array.isArray(content)) content.forEach((item: Json, n) => void enter(item, `${was}/${n}`, `${to}/${n}`));
      else if (kind !== 'map') enter(content, was, to);
      else if (isObject(content)) {
        for (const [key, item] of Object.entries(content)) {
          const as = defining.includes(keyword) ? unused(`${component ?? name}.${key}`, taken, existing) : null;
          enter(item, `${was}/${escaped(key)}`, as === null ? `${to}/${fragment(key)}` : components + as, as);
        }
      }
    }
  }

  visit(schema, [], components + name, name);
  return found;
}

/** Returns a valid component name that is neither in `taken` nor in `existing`, and adds it to `taken`. */
function unused(name: string, taken: Set<string>, existing: Components): string {
  const fit = name.replace(/[^\w.-]/g, '_');
  let free = fit;
  for (let n = 2; taken.has(free) || free in existing; n++) free = `${fit}_${n}`;
  taken.add(free);
  return free;
}

/** Every URI by which a part of the schema can be referred to, with the pointer of that part in the new document. */
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
    // In drafts 6 and 7 an `$id` that begins with `#` is an anchor.
    if (typeof $id === 'string' && $id.startsWith('#')) add($id, base, to);
  }
  return names;
}

/** The absolute form of a reference, with its fragment unescaped; null if the reference is not valid. */
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

/** The keyword's name in 2020-12. In drafts 6 and 7, a list in `items` becomes `prefixItems`, and `additionalItems` then becomes `items`. */
function newKeyword(keyword: string, schema: JsonObject, isOld: boolean): string {
  if (!isOld || !Array.isArray(schema['items'])) return keyword;
  return keyword === 'items' ? 'prefixItems' : keyword === 'additionalItems' ? 'items' : keyword;
}

type Rewriting = { readonly isOld: boolean; resolve(reference: string, base: string): string };

/** Rewrites a schema for the new document. A component `true` or `false` becomes an equivalent object. */
function rewrite(schema: Json, above: string, how: Rewriting): JsonObject {
  if (!isObject(schema)) return schema === false ? { not: {} } : {};
  const base = baseWithin(schema, above);
  const within = (value: Json): Json => (isObject(value) ? rewrite(value, base, how) : value);
  const entries = Object.entries(schema).flatMap(([keyword, value]): (readonly [string, Json])[] => {
    if (defining.includes(keyword) || (naming.includes(keyword) && typeof value === 'string')) return [];
    if (referring.includes(keyword) && typeof value === 'string') return [['$ref', how.resolve(value, base)]];
    if (how.isOld && keyword === 'additionalItems' && !Array.isArray(schema['items'])) return [];
    const name = newKeyword(keyword, schema, how.isOld);
    const kind = keywordContents.get(keyword);
    if (kind === 'value') return [[name, value]];
    if (Array.isArray(value)) return [[name, value.map(within)]];
    if (kind !== 'map' || !isObject(value)) return [[name, within(value)]];
    return [[name, Object.fromEntries(Object.entries(value).map(([key, item]) => [key, within(item)]))]];
  });
  return Object.fromEntries(entries);
}

/** Escapes a key for a JSON Pointer. */
function escaped(key: string): string {
  // An unpaired surrogate is replaced, because it cannot be escaped in a fragment.
  return key
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replace(/\p{Surrogate}/gu, '\ufffd');
}

/** Escapes a key for a JSON Pointer in the fragment of a URI. */
function fragment(key: string): string {
  return encodeURI(escaped(key)).replaceAll('#', '%23');
}
