// Topology (docs/contract.md#topology): which commands emit which signals, and which commands the signals start.

import { topologyOf } from '../../actors/pipeline/views/topology.ts';
import { Type } from '../../runtime/schema-type.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { perConfig } from '../per-config.ts';
import { anyOf, json, route } from '../route.ts';

const wires = Type.Array(Type.Object({ signal: Type.String(), command: Type.String() }));
const ends = Type.Array(Type.Object({ plugin: Type.String(), command: Type.String() }));
const topologySchema = Type.Object({
  captured_at: Type.String({ format: 'date-time' }),
  plugins: Type.Array(Type.Object({ name: Type.String(), active: Type.Boolean(), inputs: wires, outputs: wires })),
  signals: Type.Array(Type.Object({ name: Type.String(), producers: ends, consumers: ends })),
});

const topologyIn = perConfig(topologyOf);

export const getTopology = route({
  method: 'GET',
  path: '/topology',
  section: 'Observation',
  summary: 'Lists plugins, the signals that they emit, and the signals that start them.',
  access: anyOf('plugin:catalog:ro', 'plugin:rw'),
  answers: { 200: { description: 'Plugins and signals, sorted by name.', schema: topologySchema } },
  handle(call) {
    const body = { captured_at: timestamp(call.nowMs() * 1000), ...topologyIn(call.config) };
    return json(200, JSON.stringify(body));
  },
});
