// Discovery (interface, 4.3): what anybody may ask.
import { Type } from '@sinclair/typebox';
import { json, open, type Route, route } from '../route.ts';

const healthSchema = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('stopping')]),
  uptime_seconds: Type.Integer(),
  queue_depth: Type.Integer(),
  plugins_loaded: Type.Integer(),
  config_path: Type.String(),
  binary_path: Type.String(),
  version: Type.String(),
});

const getHealth = route({
  method: 'GET',
  path: '/healthz',
  section: 'Discovery',
  summary: 'Whether the service runs.',
  access: open,
  query: {},
  body: null,
  answers: { 200: { description: 'It runs.', schema: healthSchema } },
  find: () => null,
  handle(call) {
    const { engine, config } = call;
    const body = {
      status: engine.stopping() ? 'stopping' : 'ok',
      uptime_seconds: Math.max(0, Math.floor((call.nowMs() - engine.startedAtMs) / 1000)),
      queue_depth: engine.queueDepth(),
      plugins_loaded: Object.keys(config.plugins).length,
      config_path: config.mainFile,
      binary_path: process.argv[1] ?? process.execPath,
      version: engine.version,
    };
    return json(200, JSON.stringify(body));
  },
});

export const discoveryRoutes: readonly Route[] = [getHealth];
