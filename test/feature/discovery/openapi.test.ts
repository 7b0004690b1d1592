// The OpenAPI documents: they equal golden files, an external validator and linter accept them, and all their references resolve.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../runtime/packing.ts';
import { configurationOf, configurations } from './configurations.ts';
import { controlDocumentOf, documentOf, pipelinesDocumentOf, pluginDocumentOf } from './documents.ts';

/** Redocly's recommended rules that do not apply, each with the reason. */
const rulesOff = {
  'info-license': 'the operations are those of plugins, whose licenses a manifest does not tell',
};

const documents: (readonly [name: string, document: JsonObject])[] = configurations.flatMap(name => {
  const config = configurationOf(name);
  const scoped = Object.keys(config.plugins).map(
    plugin => [`${name} ${plugin}`, pluginDocumentOf(config, plugin)] as const,
  );
  return [[name, documentOf(config)] as const, [`${name} pipelines`, pipelinesDocumentOf(config)] as const, ...scoped];
});
documents.push(['control', controlDocumentOf()]);

/** The golden documents, by the name of the file. */
const golden: readonly (readonly [name: string, document: () => JsonObject])[] = [
  ...configurations.map(name => [name, () => documentOf(configurationOf(name))] as const),
  ...configurations.map(name => [`${name}-pipelines`, () => pipelinesDocumentOf(configurationOf(name))] as const),
];

describe('golden documents', () => {
  test.each(golden)('%s (HEADGATE_WRITE_GOLDEN=1 writes it)', (name, document) => {
    const file = new URL(`golden/${name}.json`, import.meta.url);
    const written = `${JSON.stringify(document(), null, 2)}\n`;
    if (process.env['HEADGATE_WRITE_GOLDEN']) writeFileSync(file, written);
    expect(existsSync(file) ? readFileSync(file, 'utf8') : null).toBe(written);
  });
});

describe('every document', () => {
  const rules = Object.fromEntries(Object.keys(rulesOff).map(rule => [rule, 'off' as const]));
  const config = createConfig({ extends: ['recommended'], rules });

  test.each(documents)('%s is valid OpenAPI 3.1', async (_, document) => {
    const validator = new Validator();
    const result = await validator.validate(JSON.parse(JSON.stringify(document)));
    expect(result).toMatchObject({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  test.each(documents)('%s passes the recommended rules of Redocly', async (_, document) => {
    const problems = await lintFromString({ source: JSON.stringify(document), config: await config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  test.each(documents)('%s holds whatever it refers to', (_, document) => {
    for (const reference of referencesIn(document)) expect(lookUp(document, reference), reference).toBeDefined();
  });
});

/** Values of `$ref` that are references: not under `const`, and not a field's schema. */
function referencesIn(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value as JsonObject).flatMap(([key, inner]) => {
    if (key === 'const') return [];
    return key === '$ref' && typeof inner === 'string' ? [inner] : referencesIn(inner);
  });
}

function lookUp(document: JsonObject, reference: string): Json | undefined {
  expect(reference).toMatch(/^#\//);
  const keys = reference
    .slice(2)
    .split('/')
    .map(part => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce<Json | undefined>((at, key) => (at as JsonObject | undefined)?.[key], document);
}
