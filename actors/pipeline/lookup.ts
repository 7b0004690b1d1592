// Follows a path into data. Only what the data itself holds is found: nothing inherited, no lengths.
import type { Path } from '../../config/pipeline/definition.ts';
import type { Json } from '../../runtime/packing.ts';

/** What paths lead into: finds what lies under the keys of a root; undefined when something on the way is missing. */
export type Data = (path: Path) => Json | undefined;

/** The same, packed, where it may be large; null where it is small or missing. */
export type Large = (path: Path) => Uint8Array | null;

/** A `Data` over decoded values. */
export function dataOfValues(values: { readonly [root in Path['root']]?: Json }): Data {
  return ({ root, keys }) => follow(values[root] ?? null, keys);
}

const place = /^(0|[1-9]\d{0,8})$/;

/** What lies under the keys; undefined when something on the way is missing. */
export function follow(value: Json, keys: readonly string[]): Json | undefined {
  let here: Json | undefined = value;
  for (const key of keys) {
    if (typeof here !== 'object' || here === null) return undefined;
    if (Array.isArray(here)) here = place.test(key) ? here[Number(key)] : undefined;
    else here = Object.hasOwn(here, key) ? (here as { readonly [key: string]: Json })[key] : undefined;
  }
  return here;
}

/** The path as it is written in a pipeline. */
export function formatPath({ root, keys }: Path): string {
  return [root, ...keys].join('.');
}
