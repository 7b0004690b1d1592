// The gateway that the generated client talks to.
import type { Settings } from '../../../service/gateway/configuration.ts';

const tree = {
  type: 'object',
  required: ['tree'],
  properties: { tree: { $ref: '#/$defs/node' } },
  $defs: {
    node: {
      type: 'object',
      required: ['size'],
      properties: { size: { type: 'integer' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
    },
  },
};

export const settings: Settings = {
  plugins: {
    sums: {
      commands: {
        add: { type: 'read', description: 'Adds.', input_schema: { a: 'number', b: 'number' } },
        weigh: { type: 'write', description: 'Weighs a tree.', input_schema: tree },
      },
      code: `
const weight = node => node.size + (node.children ?? []).reduce((sum, child) => sum + weight(child), 0);
export const add = ({ payload }) => ({ result: { sum: payload.a + payload.b } });
export const weigh = ({ payload }) => ({ result: { weight: weight(payload.tree) } });
export const handle = ({ event }) => ({ result: event.payload });
`,
    },
  },
};
