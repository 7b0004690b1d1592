// Follows a path into data. Only what the data itself holds is found: nothing inherited, no lengths.
import type { Path } from '../../config/pipeline/definition.ts';
import type { Json } from '../../runtime/packing.ts';

/** The roots of paths, decoded when first asked for. */
export type Data = { readonly payload: Json; readonly context: Json; readonly config: Json };

const place = /^(0|[1-9]\d{0,8})$/;

/** What the path leads to; undefined when something on the way is missing. */
export function lookUp(path: Path, data: Data): Json | undefined {
  return follow(data[path.root], path.keys);
}

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
