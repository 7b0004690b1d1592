// What follows from the end of an attempt: the job ends or is retried (docs/contract.md#retries). Pure.
import type { RetryPolicy } from '../../config/config.ts';
import type { Verdict } from '../../runtime/host/wire/port.ts';
import type { TerminalStatus } from './records/job.ts';

export type AttemptEnd = {
  readonly verdict: Verdict;
  /** The plugin, or the protocol, says that another attempt is of no use. */
  readonly permanent: boolean;
  readonly attempt: number;
  readonly policy: RetryPolicy;
  readonly retrySafe: boolean;
};

export type Decision =
  | { readonly kind: 'end'; readonly status: TerminalStatus }
  /** `status` is the attempt's own, for its log record. */
  | { readonly kind: 'retry'; readonly status: 'failed' | 'timed_out'; readonly delayMs: number };

/** `random` in [0, 1): full jitter. */
export function decide(ending: AttemptEnd, random: () => number): Decision {
  if (ending.verdict === 'ok') return { kind: 'end', status: 'succeeded' };
  const status = ending.verdict === 'timed_out' ? 'timed_out' : 'failed';
  if (ending.permanent || !ending.retrySafe || ending.policy.attemptsMax <= 1) return { kind: 'end', status };
  if (ending.attempt >= ending.policy.attemptsMax) return { kind: 'end', status: 'dead' };
  return { kind: 'retry', status, delayMs: Math.floor(random() * backoffMs(ending.policy, ending.attempt)) };
}

/** The longest wait before the attempt after this one. */
function backoffMs(policy: RetryPolicy, attempt: number): number {
  return Math.min(policy.backoffMaxMs, policy.backoffBaseMs * 2 ** (attempt - 1));
}
