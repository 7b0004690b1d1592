// Section 9 of sentences.ts: versions.
import { expect, test } from 'vitest';
import { shareGateway } from '../gateway/gateway.ts';
import { read, settings, whole } from './service.ts';

const gateway = shareGateway(settings);

test('the health response carries a version string', async () => {
  expect((await read(gateway, '/healthz'))['version']).toMatch(/^\d+\.\d+\.\d+/);
});

test('plugins report their version, a string, and a protocol integer', async () => {
  for (const name of Object.keys(settings.plugins))
    expect(await read(gateway, `/plugin/${name}`)).toMatchObject({ name, version: '1.0.0', protocol: whole });
});

test('OpenAPI documents use the version 3.1.0', async () => {
  for (const path of ['/openapi.json', '/plugin/echo/openapi.json', '/plugin/noisy/openapi.json'])
    expect(await read(gateway, path)).toMatchObject({ openapi: '3.1.0' });
});

test('the discovery manifest has schema_version v1', async () => {
  expect(await read(gateway, '/.well-known/ai-plugin.json')).toMatchObject({ schema_version: 'v1' });
});
