// The webhook listener: a separate address for external senders, with the endpoints of the configuration in force.
import type { Config } from '../../config/config.ts';
import { Type } from '../../runtime/schema-type.ts';
import type { Caller } from '../auth.ts';
import { json, open, type Route, route } from '../route.ts';
import { makeRouteTable, type RouteTable } from '../route-table.ts';
import { uptimeSeconds } from '../routes/discovery.ts';
import { type ServeOptions, type Server, serve } from '../server.ts';
import type { Listener } from '../transport/transport.ts';
import type { DeliveryEvents } from './delivery-events.ts';
import { endpointRoute } from './endpoint.ts';

export type WebhookOptions = Omit<ServeOptions, 'table' | 'authenticate'> & { readonly deliveryEvents: DeliveryEvents };

export function serveWebhooks(listener: Listener, { deliveryEvents, ...options }: WebhookOptions): Server {
  return serve(listener, { ...options, table: webhookTables(deliveryEvents), authenticate: () => anybody });
}

/** The caller of every request, except on open routes. This listener has no API tokens, so a request for an unknown path gets 404 and not 401. */
const anybody: Caller = {
  name: null,
  origin: 'webhook',
  scopes: new Set(),
  tokenDigest: '',
  expiresAtMs: null,
};

/** Makes the function that returns the routes of a configuration. The routes are made once per configuration. */
function webhookTables(deliveryEvents: DeliveryEvents): (config: Config) => RouteTable {
  let known: Config | null = null;
  let table = makeRouteTable([]);
  return config => {
    if (config !== known) {
      const endpoints = config.webhooks.endpoints.map(endpoint => endpointRoute(endpoint, config, deliveryEvents));
      table = makeRouteTable([getHealth, ...endpoints]);
      known = config;
    }
    return table;
  };
}

/** A health check for external callers. It shows less than the health check of the API: no paths, plugins or queue. */
const getHealth: Route = route({
  method: 'GET',
  path: '/healthz',
  section: 'Webhooks',
  summary: 'Whether the service runs.',
  access: open,
  answers: {
    200: {
      description: 'It runs.',
      schema: Type.Object({
        status: Type.Union([Type.Literal('ok'), Type.Literal('stopping')]),
        uptime_seconds: Type.Integer(),
        version: Type.String(),
      }),
    },
  },
  handle(call) {
    const status = call.engine.stopping() ? 'stopping' : 'ok';
    return json(200, JSON.stringify({ status, uptime_seconds: uptimeSeconds(call), version: call.engine.version }));
  },
});
