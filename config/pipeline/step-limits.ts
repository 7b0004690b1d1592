// Reads `retry` and `timeout` of a step, which replace the settings of its plugin.
import { isObject } from '../../runtime/json-value.ts';
import { deadlineMax, readDuration } from '../check/duration.ts';
import type { ReportAt } from '../check/problem.ts';
import type { NodePath } from '../source/tree.ts';
import type { Step, StepRetry } from './definition.ts';
import { quote } from './path.ts';

type UsesStep = Extract<Step, { readonly kind: 'uses' }>;

/** Reads `retry` and `timeout` of a step with `uses`. Reports more than one attempt for a command that is not `retry_safe` (`onlyOnce`). */
export function readLimits(
  { retry: written, timeout }: { readonly [key: string]: unknown },
  { instance, command }: Pick<UsesStep, 'instance' | 'command'>,
  { onlyOnce, reportAt }: { readonly onlyOnce: ReadonlySet<string>; readonly reportAt: ReportAt },
  at: NodePath,
): Pick<UsesStep, 'retry' | 'timeoutMs'> {
  const retry = isObject(written) ? readRetry(written, [...at, 'retry'], reportAt) : {};
  const name = `${instance}.${command}`;
  if ((retry.attemptsMax ?? 1) > 1 && onlyOnce.has(name)) {
    const rule = `the command ${quote(name)} is retry_safe: false, and its jobs have one attempt`;
    reportAt([...at, 'retry', 'max_attempts'], `is ${retry.attemptsMax}, but ${rule}`);
  }
  const timeoutMs = readDuration(timeout, [...at, 'timeout'], reportAt, { most: deadlineMax });
  return { ...(Object.keys(retry).length > 0 && { retry }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

function readRetry(written: { readonly [key: string]: unknown }, at: NodePath, reportAt: ReportAt): StepRetry {
  const { max_attempts: attemptsMax, backoff_base: base, backoff_max: max } = written;
  const backoffBaseMs = readDuration(base, [...at, 'backoff_base'], reportAt, { least: '0ms' });
  const backoffMaxMs = readDuration(max, [...at, 'backoff_max'], reportAt, { least: '0ms' });
  return {
    ...(typeof attemptsMax === 'number' && { attemptsMax }),
    ...(backoffBaseMs !== undefined && { backoffBaseMs }),
    ...(backoffMaxMs !== undefined && { backoffMaxMs }),
  };
}
