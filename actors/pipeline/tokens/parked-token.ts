// A token is parked if it cannot continue now, for instance because the turn has no time left. Parked tokens are stored in the form of fan-outs.
import { unpinned } from '../../../runtime/bytes.ts';
import { type FanOut, isParked, type ParkedPlan } from '../fanout/fanout.ts';
import type { Run, Scope } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import type { Token } from './token.ts';

/** The plan of a token that is parked before a node. A large payload that is stored with a job or run is not stored again. */
export function parkedAt(node: number, { id: scope }: Scope, token: Token): ParkedPlan {
  const { path, cause, depth, event, storedAs, isReused } = token;
  const payload = unpinned(token.payload.stored);
  const result = token.result === token.payload.stored ? null : unpinned(token.result);
  const context = unpinned(token.context.bytes);
  const place = { node, scope, path, cause, depth, event, context, list: payload, result };
  const plan = isReused ? { ...place, isReused } : place;
  if (storedAs === null || !token.payload.isLarge) return plan;
  return { ...plan, isBehindJob: true, ...(storedAs !== 'result' && { storedAs }) };
}

/** The plan of a token after a job with a flood of events (job-events.ts): the token divides into one token per event. */
export function parkedBeforeEvents(node: number, scope: Scope, token: Token, events: Uint8Array): ParkedPlan {
  const result = unpinned(token.result);
  return { ...parkedAt(node, scope, token), isBehindJob: true, list: unpinned(events), result, hasEvents: true };
}

/** Adds a fan-out, or a parked token, to the run. */
export function addFan(table: RunTable, run: Run, fan: FanOut): void {
  run.fans.set(fan.id, fan);
  if (isParked(fan)) run.parked.add(fan);
  table.listBytes += fan.plan!.list.length;
  table.expandable.add(run.name);
}

/**
 * Moves the fan-out behind the other fan-outs of the run, unless it has ended. Without this, a fan-out would be expanded to its end first,
 * and the inner fan-outs that its elements begin would all be open at once.
 */
export function moveBehind({ fans }: Run, fan: FanOut): void {
  if (fans.delete(fan.id)) fans.set(fan.id, fan);
}
