// Finds equal items of a list without comparing every pair of items.
import { canonicalText } from './json-value.ts';
import type { Json } from './packing.ts';

/** The indexes of two items that are equal as JSON, whatever the order of their keys; null if no two items are equal. */
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
