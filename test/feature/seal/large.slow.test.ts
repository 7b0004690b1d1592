// A file of a plugin that is larger than the 2 GiB that Node reads at once.
import { closeSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Gateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { makeSandbox } from '../../unit/config/sandbox.ts';
import { headgate } from '../cli/headgate.ts';

const bytes = 2 ** 31 + 4_096;

test('a plugin with a file of more than 2 GiB is locked and starts, and one changed byte of it is found', async () => {
  const environment = { HEADGATE_SEAL_KEY_FILE: join(makeSandbox({}), 'seal.key') };
  const gateway = new Gateway({ service: { strict_mode: true }, plugins: { echo } }, { environment });
  onTestFinished(() => gateway.discard());
  const model = join(gateway.directory, 'plugins/echo/model.bin');
  writeFileSync(model, '');
  // The file takes up no room on the disk.
  truncateSync(model, bytes);
  const words = ['config', 'lock', '--config', gateway.directory];
  const { status, stderr } = await headgate(words, { env: environment });
  expect(status, stderr).toBe(0);
  await gateway.start();
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });

  const file = openSync(model, 'r+');
  writeSync(file, 'x', bytes - 1);
  closeSync(file);
  const refused = await gateway.call('POST', '/system/reload');
  expect(refused).toMatchObject({ status: 409, body: { code: 'reload_refused' } });
  expect(JSON.stringify(refused.body['errors'])).toContain('model.bin:1:1: seal: has changed since lock 1');
});
