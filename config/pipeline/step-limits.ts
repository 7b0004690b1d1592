// Reads `retry` and `timeout` of a step, which replace the settings of its plugin, and other durations of pipelines.
import { timerMsMax } from '../../runtime/clock.ts';
import { isObject } from '../../runtime/json-value.ts';
import type { ReportAt } from '../check/problem.ts';
import { parseDuration } from '../quantity.ts';
import type { NodePath } from '../source/tree.ts';
import type { StepRetry } from './definition.ts';
import { quote } from './path.ts';

type Used = { readonly instance: string; readonly command: string };
type Around = { readonly onlyOnce: ReadonlySet<string>; readonly reportAt: ReportAt };

/** Reads `retry` and `timeout` of a step with `uses`. Refuses several attempts of a command in `onlyOnce`. */
export function readLimits(
  { retry: written, timeout }: { readonly [key: string]: unknown },
  { instance, command }: Used,
  { onlyOnce, reportAt }: Around,
  at: NodePath,
): { readonly retry?: StepRetry; readonly timeoutMs?: number } {
  const retry = isObject(written) ? readRetry(written) : {};
  const name = `${instance}.${command}`;
  if ((retry.attemptsMax ?? 1) > 1 && onlyOnce.has(name)) {
    const rule = `the command ${quote(name)} is retry_safe: false, and its jobs have one attempt`;
    reportAt([...at, 'retry', 'max_attempts'], `is ${retry.attemptsMax}, but ${rule}`);
  }
  const timeoutMs = readDuration(timeout, [...at, 'timeout'], reportAt, { ms: timerMsMax, text: '24d' });
  return { ...(Object.keys(retry).length > 0 && { retry }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

function readRetry(written: { readonly [key: string]: unknown }): StepRetry {
  const { max_attempts: attemptsMax, backoff_base: base, backoff_max: max } = written;
  const backoffBaseMs = typeof base === 'string' ? parseDuration(base) : undefined;
  const backoffMaxMs = typeof max === 'string' ? parseDuration(max) : undefined;
  return {
    ...(typeof attemptsMax === 'number' && { attemptsMax }),
    ...(backoffBaseMs !== undefined && { backoffBaseMs }),
    ...(backoffMaxMs !== undefined && { backoffMaxMs }),
  };
}

/** The maximum of a pipeline's `deadline` and `phase_timeout`, and of the `timeout` of a step with `call`. */
const runTimeMax = { ms: 3650 * 86_400_000, text: '3650d' };

/**
 * Reads a duration, in milliseconds. Reports a duration that is 0 or exceeds the maximum. Undefined: the value is not a
 * valid duration.
 */
export function readDuration(
  value: unknown,
  at: NodePath,
  reportAt: ReportAt,
  most: typeof runTimeMax = runTimeMax,
): number | undefined {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (ms === undefined || (ms > 0 && ms <= most.ms)) return ms;
  reportAt(at, `is ${quote(String(value))}; it must be from 1ms to ${most.text}`);
  return undefined;
}
