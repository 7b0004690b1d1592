// Chains that wait for a later turn, because the current one has had its time or writes much already: written down like a fan-out of one.
import { unpinned } from '../../runtime/bytes.ts';
import type { Chain } from './chain.ts';
import type { ParkedPlan } from './fanout.ts';
import type { Scope } from './run.ts';

/** A chain that carries more goes on: to write it down would take as long as what it waits for. */
export const parkedBytesMax = 2 ** 20;

export function isParkable({ payload, context, result }: Chain): boolean {
  return payload.stored.length + context.stored.length + result.length <= parkedBytesMax;
}

/** The chain before a node. */
export function parkedAt(node: number, { id: scope }: Scope, chain: Chain): ParkedPlan {
  const { path, cause, depth, event } = chain;
  const payload = unpinned(chain.payload.stored);
  const result = chain.result === chain.payload.stored ? null : unpinned(chain.result);
  return { node, scope, path, cause, depth, event, context: unpinned(chain.context.bytes), list: payload, result };
}

/** The chain behind a job whose large result this turn writes. */
export function parkedBehindJob(node: number, scope: Scope, chain: Chain): ParkedPlan {
  return { ...parkedAt(node, scope, chain), isBehindJob: true };
}
