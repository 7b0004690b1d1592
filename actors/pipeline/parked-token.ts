// Tokens that wait for a later turn, because the current one has had its time or writes much already: written down like a fan-out of one.
import { unpinned } from '../../runtime/bytes.ts';
import type { ParkedPlan } from './fanout.ts';
import type { Scope } from './run.ts';
import type { Token } from './token.ts';

/** The token before a node. A large payload that is stored is read again where it is. */
export function parkedAt(node: number, { id: scope }: Scope, token: Token): ParkedPlan {
  const { path, cause, depth, event, isStored } = token;
  const payload = unpinned(token.payload.stored);
  const result = token.result === token.payload.stored ? null : unpinned(token.result);
  const context = unpinned(token.context.bytes);
  const plan = { node, scope, path, cause, depth, event, context, list: payload, result };
  return isStored && token.payload.isLarge ? { ...plan, isBehindJob: true } : plan;
}

/** The token behind a job that emitted very many events: it divides, one token per event. */
export function parkedBeforeEvents(node: number, scope: Scope, token: Token, events: Uint8Array): ParkedPlan {
  return { ...parkedAt(node, scope, token), isBehindJob: true, list: unpinned(events), hasEvents: true };
}
