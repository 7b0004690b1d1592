// The API: every route of it, section by section.
import type { Route } from '../route.ts';
import { discoveryRoutes } from './discovery.ts';
import { executionRoutes } from './execution.ts';
import { jobRoutes } from './jobs.ts';

export const apiRoutes: readonly Route[] = [...executionRoutes, ...jobRoutes, ...discoveryRoutes];
