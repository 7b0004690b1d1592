// A client made from the OpenAPI document by the usual tools calls a running gateway; that it compiles is part of the test.
import { readFileSync, writeFileSync } from 'node:fs';
import createClient from 'openapi-fetch';
import { expect, test } from 'vitest';
import { everythingToken } from '../../../service/gateway/configuration.ts';
import { shareGateway } from '../../../service/gateway/gateway.ts';
import { configurationOf } from '../configurations.ts';
import { documentOf } from '../documents.ts';
import { generateTypes } from './generate.ts';
import type { paths } from './openapi.d.ts';
import { settings } from './settings.ts';

const gateway = shareGateway(settings);
const client = (token: string = everythingToken) =>
  createClient<paths>({ baseUrl: gateway.url, headers: { Authorization: `Bearer ${token}` } });

const purpose =
  '// Made from the OpenAPI document of settings.ts, without its comments: HEADGATE_WRITE_GOLDEN=1 writes it again.\n';

test('the types are those of the document that the gateway answers', async () => {
  const { body } = await gateway.call('GET', '/openapi.json', undefined, { token: null });
  const file = new URL('openapi.d.ts', import.meta.url);
  const made = purpose + generateTypes(body).replaceAll(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '');
  if (process.env['HEADGATE_WRITE_GOLDEN']) writeFileSync(file, made);
  expect(readFileSync(file, 'utf8')).toBe(made);
});

test('types can be made of the awkward document', () => {
  const types = generateTypes(documentOf(configurationOf('nasty')));
  expect(types).toContain('"/plugin/a__b/c__2"');
  expect(types).not.toContain('unknown[]');
});

test('a call is accepted, and its job runs with the payload', async () => {
  const { data, response } = await client().POST('/plugin/sums/add', { body: { payload: { a: 2, b: 3 } } });
  expect([response.status, data]).toMatchObject([202, { status: 'queued', plugin: 'sums', command: 'add' }]);
  expect((await gateway.settled(data!.job_id)).result?.result).toEqual({ sum: 5 });
});

test('a payload whose schema refers to itself', async () => {
  const tree = { size: 1, children: [{ size: 2 }, { size: 3, children: [{ size: 4 }] }] };
  const { data } = await client().POST('/plugin/sums/weigh', { body: { payload: { tree } } });
  expect((await gateway.settled(data!.job_id)).result?.result).toEqual({ weight: 10 });
});

test('a command without an input schema is called without a body', async () => {
  const { data } = await client().POST('/plugin/sums/handle');
  expect((await gateway.settled(data!.job_id)).status).toBe('succeeded');
});

test('a refusal is typed: a payload that does not fit', async () => {
  // @ts-expect-error: the types know that b is a number.
  const { error, response } = await client().POST('/plugin/sums/add', { body: { payload: { a: 2, b: 'three' } } });
  expect([response.status, error?.code, error?.detail]).toEqual([400, 'invalid_payload', '/payload/b must be number']);
});
