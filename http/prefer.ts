// The preferences in the header `Prefer` (RFC 7240). Malformed and unknown preferences are ignored.
import type { Headers } from './answer.ts';

/** The header that confirms the preference `return=minimal`, by which the caller asks for a shorter answer. */
export const minimalApplied: Headers = [['Preference-Applied', 'return=minimal']];

/** The value of the first valid preference `wait`, in seconds; null without such a preference. */
export function preferredSeconds(preferences: string): number | null {
  const found = firstValue(preferences, /^[ \t]*wait[ \t]*=[ \t]*(?:(\d{1,9})|"(\d{1,9})")[ \t]*(?:;|$)/i);
  return found === null ? null : Number(found);
}

/** Whether the first valid preference `return` is `minimal`. */
export function prefersMinimal(preferences: string): boolean {
  const value = firstValue(preferences, /^[ \t]*return[ \t]*=[ \t]*(?:([a-z]{1,20})|"([a-z]{1,20})")[ \t]*(?:;|$)/i);
  return value?.toLowerCase() === 'minimal';
}

/** The value in the first preference that matches the pattern; null if none matches. */
function firstValue(preferences: string, pattern: RegExp): string | null {
  if (preferences === '') return null;
  for (const preference of itemsOf(preferences)) {
    const found = pattern.exec(preference);
    if (found) return found[1] ?? found[2]!;
  }
  return null;
}

/** Splits a list at the commas that are not inside quotes. */
function itemsOf(list: string): string[] {
  const items: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let at = 0; at < list.length; at++) {
    const character = list[at];
    if (isQuoted && character === '\\') at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      items.push(list.slice(from, at));
      from = at + 1;
    }
  }
  return [...items, list.slice(from)];
}
