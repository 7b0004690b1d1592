// The webhook listener: a separate address for external senders, with the endpoints of the configuration in force.
import { Type } from '../../runtime/schema-type.ts';
import { anybody } from '../auth.ts';
import { oneOfTexts } from '../openapi/schemas.ts';
import { perConfig } from '../per-config.ts';
import { json, open, type Route, route } from '../route.ts';
import { makeRouteTable } from '../route-table.ts';
import { uptimeSeconds } from '../routes/discovery.ts';
import { type ServeOptions, type Server, serve } from '../server.ts';
import type { Listener } from '../transport/transport.ts';
import type { DeliveryEvents } from './delivery-events.ts';
import { endpointRoute } from './endpoint.ts';

type WebhookOptions = Omit<ServeOptions, 'table' | 'authenticate'> & { readonly deliveryEvents: DeliveryEvents };

export function serveWebhooks(listener: Listener, { deliveryEvents, ...options }: WebhookOptions): Server {
  const table = perConfig(config => {
    const endpoints = config.webhooks.endpoints.map(endpoint => endpointRoute(endpoint, config, deliveryEvents));
    return makeRouteTable([getHealth, ...endpoints]);
  });
  return serve(listener, { ...options, table, authenticate: () => anybody });
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
        status: oneOfTexts(['ok', 'stopping']),
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
