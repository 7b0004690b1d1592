// Equal items of a list, found in time that grows with its size, and not with the square of it.
import { canonicalText } from './json-value.ts';
import type { Json } from './packing.ts';

/** The places of two items that are equal as JSON (keys in any order); null when there are none. */
export function equalItems(items: readonly Json[]): readonly [first: number, second: number] | null {
  const places = new Map<string, number>();
  for (const [place, item] of items.entries()) {
    const text = canonicalText(item);
    const first = places.get(text);
    if (first !== undefined) return [first, place];
    places.set(text, place);
  }
  return null;
}
