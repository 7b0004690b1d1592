// The routes of a listener: their router, and the checks of their bodies.
import type { BodyCheck } from './admission.ts';
import { makeBodyCheck } from './payload.ts';
import type { Route } from './route.ts';
import { makeRouter, type PathRouter } from './router.ts';

export type RouteTable = {
  readonly router: PathRouter;
  readonly hasVault: boolean;
  readonly bodyChecks: ReadonlyMap<Route, BodyCheck>;
};

export function makeRouteTable(routes: readonly Route[]): RouteTable {
  const bodyChecks = new Map<Route, BodyCheck>();
  for (const route of routes) if (route.body) bodyChecks.set(route, makeBodyCheck(route.body));
  return { router: makeRouter(routes), hasVault: routes.some(({ access }) => access.kind === 'vault'), bodyChecks };
}
