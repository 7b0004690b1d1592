// Tokens that wait for a later turn, because the current one has had its time or writes much already: written down like a fan-out of one.
import { unpinned } from '../../runtime/bytes.ts';
import type { ParkedPlan } from './fanout.ts';
import type { Scope } from './run.ts';
import type { Token } from './token.ts';

/** A token that carries more goes on: to write it down would take as long as what it waits for. */
export const parkedBytesMax = 2 ** 20;

export function isParkable({ payload, context, result }: Token): boolean {
  return payload.stored.length + context.stored.length + result.length <= parkedBytesMax;
}

/** The token before a node. */
export function parkedAt(node: number, { id: scope }: Scope, token: Token): ParkedPlan {
  const { path, cause, depth, event } = token;
  const payload = unpinned(token.payload.stored);
  const result = token.result === token.payload.stored ? null : unpinned(token.result);
  return { node, scope, path, cause, depth, event, context: unpinned(token.context.bytes), list: payload, result };
}

/** The token behind a job whose large result this turn writes. */
export function parkedBehindJob(node: number, scope: Scope, token: Token): ParkedPlan {
  return { ...parkedAt(node, scope, token), isBehindJob: true };
}

/** The token behind a job that emitted very many events: it divides, one token per event. */
export function parkedBeforeEvents(node: number, scope: Scope, token: Token, events: Uint8Array): ParkedPlan {
  return { ...parkedBehindJob(node, scope, token), list: unpinned(events), hasEvents: true };
}
