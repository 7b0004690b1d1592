// `headgate backup --with-index`.
import { mkdirSync, readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { Gateway } from '../gateway/gateway.ts';
import { echo } from '../gateway/sources.ts';

test('the index is copied only while no service runs, and only if it is not damaged', async () => {
  const gateway = new Gateway({ plugins: { echo } });
  const other = new Gateway({ plugins: { echo } });
  onTestFinished(() => gateway.discard());
  onTestFinished(() => other.discard());
  await gateway.start();
  await gateway.finished('echo/say', {});
  const out = join(gateway.directory, 'backups');
  mkdirSync(out);
  const backUp = (name: string, ...options: string[]) =>
    headgate(['backup', join(out, name), '--config', gateway.directory, ...options]);
  const beside = await backUp('beside', '--with-index');
  expect(beside).toMatchObject({ status: 75, stderr: expect.stringContaining('leave out --with-index') });
  await gateway.term();
  expect((await backUp('whole', '--with-index')).status).toBe(0);
  expect((await headgate(['restore', join(out, 'whole'), '--into', join(other.directory, 'data')])).status).toBe(0);
  await other.start();
  const { body } = await other.call('GET', '/system/doctor');
  expect(body['checks']).toContainEqual({ name: 'search_index', passed: true, detail: 'open' });

  const index = join(gateway.directory, 'data/search/data.mdb');
  truncateSync(index, 16_384);
  const damaged = await backUp('damaged', '--with-index');
  expect(damaged.stderr).toMatch(`${index} is damaged: `);
  expect(damaged.stderr).toContain('leave out --with-index');
  expect(damaged.status).toBe(74);
  expect(readdirSync(out)).toEqual(['whole']);
  expect((await backUp('without')).status).toBe(0);
});
