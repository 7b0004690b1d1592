// Limits the work of the references in a JSON Schema while one value is checked. If a schema refers to itself from several alternatives, the
// work could otherwise double with each level of the value.
import { TooManySteps } from './pattern.ts';

/** The maximum number of steps that the references of a schema may take to check one value. So many steps take a tenth of a second or two. */
export const referenceStepsMax = 3e6;
/** The maximum if every mismatch is reported. The check is repeated in this way only for better messages. */
export const thoroughStepsMax = referenceStepsMax / 10;
/** For each value inside the checked value, this many steps are allowed in addition, so that large values can be checked. */
const stepsPerValue = 20;
/** Each reference takes at least this many steps. */
const stepsPerReference = 20;
/** A text counts as one value, and as one more for each `charactersPerValue` characters. */
const charactersPerValue = 50;
/** The sizes of values that contain more than this many are computed once for each check. */
const smallMax = 32;

let checked: unknown = null;
/** Null until the first reference of a check. */
let stepsLeft: number | null = null;
let stepsMax = referenceStepsMax;
const sizes = new Map<object, number>();

/** Runs a check of the value, whose references may take at most `max` steps. */
export function limitReferences<T>(value: unknown, max: number, check: () => T): T {
  checked = value;
  stepsLeft = null;
  stepsMax = max;
  try {
    return check();
  } finally {
    checked = null;
    sizes.clear();
  }
}

/**
 * Must be called for each reference that is followed. `value`: the value that is checked against the target of the reference. `errors`: the
 * number of errors that were found before in the same schema; they are copied when the target finds one.
 */
export function takeReference(value: unknown, errors: number): void {
  stepsLeft ??= stepsMax + stepsPerValue * sizeOf(checked);
  stepsLeft -= stepsPerReference + sizeOf(value) + errors;
  if (stepsLeft < 0) throw new TooManySteps('$ref', 'takes too many steps to check against its schema');
}

/** How many values the value contains, including itself. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length / charactersPerValue;
  if (typeof value !== 'object' || value === null) return 1;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  let size = 1;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) size += sizeOf(inner);
  if (size > smallMax) sizes.set(value, size);
  return size;
}
