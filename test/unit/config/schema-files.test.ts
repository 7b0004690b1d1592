// The shipped schemas: up to date, strict enough to help, lenient where interpolation comes later.
import { readFileSync, writeFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { configSchema, manifestFileSchema } from '../../../config/schema-files.ts';
import { restartSettings } from '../../../config/section/restart.ts';
import { parseTree } from '../../../config/source/document.ts';
import { plainValue } from '../../../config/source/tree.ts';
import type { Json, JsonObject } from '../../../runtime/packing.ts';

function mismatches(schema: JsonObject, yaml: string): string[] {
  const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);
  const { root } = parseTree('x.yaml', Buffer.from(yaml));
  validate(plainValue(root!));
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** All settings, by their full key, with `x-reload` and description from the schema. */
function settingsIn(schema: JsonObject, path: readonly string[]): { key: string; reload: Json; description: Json }[] {
  const properties = schema['properties'] as { readonly [key: string]: JsonObject } | undefined;
  if (properties === undefined || schema['additionalProperties'] !== false || schema['x-reload'] !== undefined)
    return [{ key: path.join('.'), reload: schema['x-reload']!, description: schema['description']! }];
  return Object.entries(properties).flatMap(([key, inner]) => settingsIn(inner, [...path, key]));
}

describe('config/schema', () => {
  it.each([
    ['config.json', configSchema()],
    ['manifest.json', manifestFileSchema()],
  ])('%s is not stale (HEADGATE_WRITE_SCHEMAS=1 writes it)', (name, schema) => {
    const content = `${JSON.stringify(schema, null, 2)}\n`;
    const file = new URL(`../../../config/schema/${name}`, import.meta.url);
    if (process.env['HEADGATE_WRITE_SCHEMAS']) writeFileSync(file, content);
    expect(readFileSync(file, 'utf8')).toBe(content);
  });

  it('takes a configuration with variables where values stand', () => {
    const yaml = `
service: { log_level: "\${LEVEL}", max_workers: "\${WORKERS:-2}", strict_mode: "\${STRICT}" }
api: { listen: "\${HOST}:8080", max_body_size: "\${SIZE}" }
plugins: { echo: { config: { a: [1] }, timeouts: { handle: "\${T}" } } }
pipelines:
  - name: p
    on: x.y
    if: { all: [{ path: payload.a, op: gt, value: 0 }, { not: { path: payload.b, op: exists } }] }
    steps: [{ uses: echo, foreach: payload.list }, { split: { a: { uses: echo }, b: [{ call: q }] }, join: all }]
`;
    expect(mismatches(configSchema(), yaml)).toEqual([]);
  });

  it('finds unknown keys and wrong values', () => {
    expect(mismatches(configSchema(), 'servce: 1')).toEqual([' must NOT have additional properties']);
    expect(mismatches(configSchema(), 'service: { log_level: loud }')).toContain(
      '/service/log_level must match a schema in anyOf',
    );
    expect(mismatches(configSchema(), 'pipelines: [{ name: p, steps: [{ uses: a, call: b }] }]')).toContain(
      '/pipelines/0/steps/0 must match exactly one schema in oneOf',
    );
  });

  it('says of every setting whether a reload or a restart puts it into force', () => {
    const settings = settingsIn(configSchema(), []);
    expect(settings.filter(({ reload }) => reload === undefined)).toEqual([]);
    const restart = settings.filter(({ reload }) => reload === 'restart');
    expect(restart.map(({ key }) => key)).toEqual(restartSettings.map(({ key }) => key));
    for (const { description } of restart)
      expect(description).toMatch(/ (Needs|Switching it on or off needs) a restart\.$/);
    expect(settings.find(({ key }) => key === 'service.log_level')!.reload).toBe('live');
  });

  it.each(restartSettings)('docs/configuration.md names $key among the settings that need a restart', ({ key }) => {
    const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
    expect(page.slice(page.indexOf('## Reload'))).toContain(`\`${key}\``);
  });

  it('takes unknown keys in manifests of ductile.plugin only', () => {
    const manifest = (spec: string) =>
      `{ manifest_spec: ${spec}, name: a, version: 1.0.0, protocol: 2, entrypoint: run.sh, commands: [{ name: poll }], fact_outputs: [] }`;
    expect(mismatches(manifestFileSchema(), manifest('ductile.plugin'))).toEqual([]);
    expect(mismatches(manifestFileSchema(), manifest('headgate.plugin'))).toContain(
      ' must NOT have additional properties',
    );
  });
});
