// Documents follow the configuration: after a reload they are the new ones, under another ETag.
import { expect, test } from 'vitest';
import { startGateway } from '../../service/gateway/gateway.ts';

test('after a reload the documents are new', async () => {
  const code = 'export const handle = () => ({ result: 0 });';
  const gateway = await startGateway({ plugins: { one: code } });
  const names = async () => {
    const { headers, body } = await gateway.call('GET', '/openapi.json', undefined, { token: null });
    return { etag: headers.get('ETag'), paths: Object.keys(body['paths'] as object) };
  };
  const before = await names();
  await gateway.reload({ plugins: { one: code, two: code } });
  const after = await names();
  expect([before.paths, after.paths]).toEqual([['/plugin/one/handle'], ['/plugin/one/handle', '/plugin/two/handle']]);
  expect(after.etag).not.toBe(before.etag);
});
