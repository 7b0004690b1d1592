// A configuration with everything that is difficult for documents: names, missing descriptions, another dialect, schemas with references.
import type { SandboxFiles } from '../../unit/config/sandbox.ts';

/** The files of a plugin; the manifest is JSON, which is YAML, too. */
function plugin(name: string, commands: readonly object[], more: object = {}): SandboxFiles {
  const manifest = { manifest_spec: 'headgate.plugin', name, version: '0.0.1-rc.1+x', protocol: 2 };
  const whole = { ...manifest, entrypoint: 'index.js', commands, ...more };
  return {
    [`plugins/${name}/manifest.yaml`]: JSON.stringify(whole),
    [`plugins/${name}/${whole.entrypoint}*`]: '',
  };
}

/** References of every kind that a schema can hold within itself. */
const references = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://example.org/schemas/tree.json',
  type: 'object',
  required: ['tree'],
  properties: {
    tree: { $ref: '#/$defs/node' },
    absolute: { $ref: 'https://example.org/schemas/tree.json#/$defs/label' },
    anchored: { $ref: '#here' },
    other: { $ref: 'other.json' },
    inOther: { $ref: 'other.json#/properties/n' },
    dynamic: { $dynamicRef: '#moving' },
    odd: { $ref: '#/$defs/a~1b~0c%20d%25' },
    __like__: { enum: ['{', '}', '/', '\u2028', '</script>'] },
  },
  $defs: {
    node: {
      type: 'object',
      properties: { label: { $ref: '#/$defs/label' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
    },
    label: { $anchor: 'here', type: 'string', minLength: 1 },
    mover: { $dynamicAnchor: 'moving', type: 'integer' },
    other: { $id: 'other.json', type: 'object', properties: { n: { type: 'number' }, again: { $ref: '#' } } },
    'a/b~c d%': { type: 'boolean' },
  },
};

const draft07 = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    pair: { type: 'array', items: [{ $ref: '#/definitions/half' }, { type: 'integer' }], additionalItems: false },
    plain: { $ref: '#/definitions/half', minLength: 99 },
    named: { $ref: '#short' },
  },
  definitions: { half: { $id: '#short', type: 'string', maxLength: 3 } },
};

export const nastyFiles: SandboxFiles = {
  'config.yaml': JSON.stringify({
    service: { name: 'nasty "quoted" \u00e9\u{1f980}' },
    plugin_roots: ['./plugins'],
    plugins: {
      'second-instance': { uses: 'references', config: {} },
      off: { enabled: false },
    },
    pipelines: [
      { name: '0.a-b_c.', steps: [{ uses: 'bare' }] },
      { name: 'hooked', on_hook: 'job.failed', timeout_secs: 7, steps: [{ uses: 'bare' }] },
      // Two pipelines whose definitions would become components of the same name.
      {
        name: 'order',
        input_schema: {
          type: 'object',
          properties: { a: { $ref: '#/$defs/item' } },
          $defs: { item: { type: 'string' } },
        },
        steps: [{ uses: 'bare' }],
      },
      {
        name: 'order.item',
        input_schema: { type: 'object', properties: { again: { $ref: '#' } } },
        steps: [{ uses: 'bare' }],
      },
      {
        name: 'shaped',
        description: 'Line one.\nLine two with `code` and <b>.',
        input_schema: references,
        execution_mode: 'synchronous',
        steps: [{ uses: 'bare' }],
      },
    ],
  }),
  ...plugin('bare', [{ name: 'handle' }]),
  ...plugin('off', [{ name: 'handle' }]),
  ...plugin('constructor', [{ name: 'toString', type: 'read', description: '  ' }], { description: '' }),
  ...plugin('0', [{ name: '-' }, { name: '_' }, { name: 'openapi' }]),
  // Two commands whose operation ids would be the same, and one that already has the id that the second would get instead.
  ...plugin('a', [{ name: 'b__c', description: 'The first.' }]),
  ...plugin('a__b', [{ name: 'c' }, { name: 'c__2' }]),
  ...plugin('references', [
    { name: 'handle', description: 'Line one.\nLine two with `code` and <b>.', input_schema: references },
    { name: 'draft-07', type: 'read', input_schema: draft07 },
  ]),
  ...plugin('compact', [
    { name: 'handle', input_schema: { width: 'integer', path: 'string', type: 'string', any: 'any' } },
    { name: 'empty', input_schema: {} },
    { name: 'loop', input_schema: { type: 'object', properties: { again: { $ref: '#' } } } },
  ]),
  ...plugin(
    'ductile',
    [{ name: 'handle', input_schema: { url: 'where it is', count: 'integer' }, fact_outputs: ['x'] }, { name: 'poll' }],
    { manifest_spec: 'ductile.plugin', entrypoint: 'run.sh', fact_outputs: [], description: 'Another dialect.' },
  ),
};
