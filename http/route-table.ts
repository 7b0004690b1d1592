// Routes made ready to be asked: where each is, and the check of its body.
import type { BodyCheck } from './admission.ts';
import { makeBodyCheck } from './payload.ts';
import type { Route } from './route.ts';
import { makeRouter, type Router } from './router.ts';

export type RouteTable = {
  readonly router: Router;
  /** Whether the vault is among them. */
  readonly hasVault: boolean;
  readonly bodyChecks: ReadonlyMap<Route, BodyCheck>;
};

export function makeRouteTable(routes: readonly Route[]): RouteTable {
  const bodyChecks = new Map<Route, BodyCheck>();
  for (const route of routes) if (route.body) bodyChecks.set(route, makeBodyCheck(route.body));
  return { router: makeRouter(routes), hasVault: routes.some(({ access }) => access.kind === 'vault'), bodyChecks };
}
