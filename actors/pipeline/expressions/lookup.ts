// Follows a path into data. Only the data's own keys are found: no inherited ones, and no `length`.
import type { Path } from '../../../config/pipeline/definition.ts';
import type { Json } from '../../../runtime/packing.ts';
import { place } from '../../../runtime/splice.ts';

/** The data that paths refer to. Undefined: a part of the path is missing. */
export type Data = {
  value(path: Path): Json | undefined;
  /** The value as conditions need it: a large list or map is not decoded, and a large text is decoded once. */
  view(path: Path): Json | LargeValue | LargeText | undefined;
  /** The value as text: a text as it is, anything else as JSON. */
  text(path: Path): string | undefined;
};

/** A large list or map that stays packed. */
export class LargeValue {
  readonly bytes: Uint8Array;
  /**
   * Whether the test holds for any element of the list, or for any key of the map. The test receives the offset of the element or key;
   * `name` identifies the test.
   */
  readonly some: (name: string, test: (at: number) => boolean) => boolean;

  constructor(bytes: Uint8Array, some: LargeValue['some']) {
    this.bytes = bytes;
    this.some = some;
  }
}

/** A large text. `once` runs a test on it, and keeps the result for the next call with the same `name`. */
export class LargeText {
  readonly text: string;
  readonly once: (name: string, test: () => boolean) => boolean;

  constructor(text: string, once: LargeText['once']) {
    this.text = text;
    this.once = once;
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

/** The value under these keys; undefined if any of them is missing. */
export function follow(value: Json, keys: readonly string[]): Json | undefined {
  let here: Json | undefined = value;
  for (const key of keys) {
    if (typeof here !== 'object' || here === null) return undefined;
    if (Array.isArray(here)) here = place.test(key) ? here[Number(key)] : undefined;
    else here = Object.hasOwn(here, key) ? (here as { readonly [key: string]: Json })[key] : undefined;
  }
  return here;
}
