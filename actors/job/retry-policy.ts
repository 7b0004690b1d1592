// Decides what follows from the end of an attempt: the job ends or is retried (docs/contract.md#retries). Pure.
import type { RetryPolicy } from '../../config/config.ts';
import type { Outcome } from '../../runtime/host/wire/plugin-host.ts';
import type { TerminalStatus } from './records/job.ts';

/** `permanent`: the plugin, or the protocol, says that another attempt is of no use. */
type AttemptEnd = Pick<Outcome, 'verdict' | 'permanent'> & { readonly retrySafe: boolean };

export type Decision =
  | { readonly kind: 'end'; readonly status: TerminalStatus }
  /** `status` is the attempt's own, for its log record. */
  | { readonly kind: 'retry'; readonly status: 'failed' | 'timed_out'; readonly delayMs: number };

/** `random` in [0, 1): full jitter. */
export function decide(end: AttemptEnd, attempt: number, policy: RetryPolicy, random: () => number): Decision {
  if (end.verdict === 'ok') return { kind: 'end', status: 'succeeded' };
  const status = end.verdict === 'timed_out' ? 'timed_out' : 'failed';
  if (end.permanent || !end.retrySafe || policy.attemptsMax <= 1) return { kind: 'end', status };
  if (attempt >= policy.attemptsMax) return { kind: 'end', status: 'dead' };
  return { kind: 'retry', status, delayMs: Math.floor(random() * backoffMs(policy, attempt)) };
}

/** The longest wait before the attempt after this one. */
function backoffMs(policy: RetryPolicy, attempt: number): number {
  return Math.min(policy.backoffMaxMs, policy.backoffBaseMs * 2 ** (attempt - 1));
}
