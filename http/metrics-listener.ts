// The listener for scrapes from this machine: the metrics without a token.
import { anybody } from './auth.ts';
import { makeRouteTable } from './route-table.ts';
import { openMetricsRoute } from './routes/metrics.ts';
import { type ServeOptions, type Server, serve } from './server.ts';
import type { Listener } from './transport/transport.ts';

export function serveMetrics(listener: Listener, options: Omit<ServeOptions, 'table' | 'authenticate'>): Server {
  const table = makeRouteTable([openMetricsRoute]);
  return serve(listener, { ...options, table: () => table, authenticate: () => anybody });
}
