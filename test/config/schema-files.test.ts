// The shipped schemas: up to date, strict enough to help, lenient where interpolation comes later.
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configSchema, manifestFileSchema, schemaFiles } from '../../config/schema-files.ts';
import { parseTree } from '../../config/source/document.ts';
import { plainValue } from '../../config/source/tree.ts';
import { compileOwnSchema } from '../../runtime/json-schema.ts';
import type { JsonObject } from '../../runtime/packing.ts';

function mismatches(schema: JsonObject, yaml: string): string[] {
  const check = compileOwnSchema(schema);
  const { root } = parseTree('x.yaml', Buffer.from(yaml));
  return check(plainValue(root!)).map(mismatch => `${mismatch.pointer} ${mismatch.message}`);
}

describe('config/schema', () => {
  it.each(Object.entries(schemaFiles()))('%s is not stale (HEADGATE_WRITE_SCHEMAS=1 writes it)', (name, content) => {
    const file = new URL(`../../config/schema/${name}`, import.meta.url);
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

  it('takes unknown keys in manifests of ductile.plugin only', () => {
    const manifest = (spec: string) =>
      `{ manifest_spec: ${spec}, name: a, version: 1.0.0, protocol: 2, entrypoint: run.sh, commands: [{ name: poll }], fact_outputs: [] }`;
    expect(mismatches(manifestFileSchema(), manifest('ductile.plugin'))).toEqual([]);
    expect(mismatches(manifestFileSchema(), manifest('headgate.plugin'))).toContain(
      ' must NOT have additional properties',
    );
  });
});
