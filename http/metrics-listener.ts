// The listener for scrapes from this machine: the metrics without a token.
import type { Caller } from './auth.ts';
import { makeRouteTable } from './route-table.ts';
import { openMetricsRoute } from './routes/metrics.ts';
import { type ServeOptions, type Server, serve } from './server.ts';
import type { Listener } from './transport/transport.ts';

/** The caller of requests for unknown paths. This listener has no API tokens, so such a request gets 404 and not 401. */
const anybody: Caller = { name: null, origin: 'metrics', scopes: new Set(), tokenDigest: '', expiresAtMs: null };

export function serveMetrics(listener: Listener, options: Omit<ServeOptions, 'table' | 'authenticate'>): Server {
  const table = makeRouteTable([openMetricsRoute]);
  return serve(listener, { ...options, table: () => table, authenticate: () => anybody });
}
