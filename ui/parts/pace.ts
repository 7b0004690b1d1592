// The limits of an action as the user types them: how many jobs it takes at most, and how many a second.

/** The maximum of `limit` of `POST /actions`. */
export const limitMax = 1_000_000_000;
/** The maximum of `per_second` of `POST /actions`. */
export const perSecondMax = 100_000;

/** A number that is typed. `value` null: the field is empty, or its number is refused with `error`. */
export type TypedNumber = { readonly value: number | null; readonly error?: string };

/** Reads a whole number from 1 to `max`. */
export function typedNumber(text: string, max: number): TypedNumber {
  const typed = text.trim();
  if (typed === '') return { value: null };
  const value = /^\d{1,12}$/.test(typed) ? Number(typed) : 0;
  return value >= 1 && value <= max ? { value } : { value: null, error: `must be a whole number from 1 to ${max}` };
}
