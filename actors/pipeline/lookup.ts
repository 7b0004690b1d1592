// Follows a path into data. Only what the data itself holds is found: nothing inherited, no lengths.
import type { Path } from '../../config/pipeline/definition.ts';
import type { Json } from '../../runtime/packing.ts';
import { place } from '../../runtime/splice.ts';

/** What paths lead into. Undefined: something on the way is missing. */
export type Data = {
  value(path: Path): Json | undefined;
  /** For a condition: a list or map that is large is not decoded. */
  view(path: Path): Json | LargeValue | undefined;
  /** A text as it is, everything else as JSON. */
  text(path: Path): string | undefined;
};

/** A list or map that stays packed. */
export class LargeValue {
  readonly bytes: Uint8Array;
  /** Whether the test holds for an element of the list, or a key of the map; it gets its place. `name`: what is tested. */
  readonly some: (name: string, test: (at: number) => boolean) => boolean;

  constructor(bytes: Uint8Array, some: LargeValue['some']) {
    this.bytes = bytes;
    this.some = some;
  }
}

/** A `Data` over decoded values. */
export function dataOfValues(values: { readonly [root in Path['root']]?: Json }): Data {
  const value = ({ root, keys }: Path) => follow(values[root] ?? null, keys);
  return { value, view: value, text: path => textOf(value(path)) };
}

export function textOf(value: Json | undefined): string | undefined {
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}

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
