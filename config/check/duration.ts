// Reads durations that must be in a range.
import { timerMsMax } from '../../runtime/clock.ts';
import { parseDuration } from '../quantity.ts';
import type { NodePath } from '../source/tree.ts';
import type { ReportAt } from './problem.ts';

/** The longest delay that a configuration may have. A delay of more than 270,000 years would lead to a time that no `Date` can hold. */
export const durationMax = { ms: 3650 * 86_400_000, text: '3650d' };
/** The longest deadline of an attempt: a timer of Node cannot wait longer. */
export const deadlineMax = { ms: timerMsMax, text: '24d' };

/**
 * Reads a duration, in milliseconds. Undefined: the value is absent, is not a duration (which the schema reports), or is out of range (which is
 * reported here).
 */
export function readDuration(
  value: unknown,
  at: NodePath,
  reportAt: ReportAt,
  { least = '1ms', most = durationMax }: { readonly least?: string; readonly most?: typeof durationMax } = {},
): number | undefined {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (ms === undefined || (ms >= parseDuration(least)! && ms <= most.ms)) return ms;
  reportAt(at, `is ${JSON.stringify(value)}; it must be from ${least} to ${most.text}`);
  return undefined;
}
