// Decides whether a job ends or is retried after an attempt (docs/contract.md#retries). The decision depends only on the arguments.
import type { RetryPolicy } from '../../../config/config.ts';
import type { Outcome } from '../../../runtime/host/wire/plugin-host.ts';
import type { TerminalStatus } from '../records/job.ts';

/** How an attempt ended. `permanent`: another attempt would be useless, for example because the plugin says so. */
type AttemptEnd = Pick<Outcome, 'verdict' | 'permanent'> & { readonly retrySafe: boolean };

export type Decision =
  | { readonly kind: 'end'; readonly status: TerminalStatus }
  /** Another attempt follows. `status`: the status of the ended attempt, for its log. */
  | { readonly kind: 'retry'; readonly status: 'failed' | 'timed_out'; readonly delayMs: number };

/** `random` returns a number in [0, 1). The delay is this share of the longest possible wait ("full jitter"). */
export function decide(end: AttemptEnd, attempt: number, policy: RetryPolicy, random: () => number): Decision {
  if (end.verdict === 'ok') return { kind: 'end', status: 'succeeded' };
  const status = end.verdict === 'timed_out' ? 'timed_out' : 'failed';
  if (end.permanent || !end.retrySafe || policy.attemptsMax <= 1) return { kind: 'end', status };
  if (attempt >= policy.attemptsMax) return { kind: 'end', status: 'dead' };
  return { kind: 'retry', status, delayMs: Math.floor(random() * backoffMs(policy, attempt)) };
}

/** The longest possible wait after this attempt. */
function backoffMs(policy: RetryPolicy, attempt: number): number {
  return Math.min(policy.backoffMaxMs, policy.backoffBaseMs * 2 ** (attempt - 1));
}
