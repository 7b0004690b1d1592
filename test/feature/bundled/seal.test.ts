// The seal covers bundled plugins like any other: their files are in the lock, and threads load only the locked bytes.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { bundledDirectory } from '../../../config/plugin/bundled.ts';
import { lockConfiguration } from '../../../config/seal/sealing.ts';
import { digestBytes, diskFiles } from '../../../config/source/files.ts';

test('their files are in the lock, a strict load has their hashes, and refuses what has changed', () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-bundled-')));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const text = 'service: { strict_mode: true }\nplugin_roots: [headgate:bundled]\nplugins: { http: {} }\n';
  writeFileSync(join(home, 'config.yaml'), text, { mode: 0o644 });
  const key = `${home}.key`;
  onTestFinished(() => rmSync(key));
  const options = { path: home, cwd: home, env: { HEADGATE_SEAL_KEY_FILE: key } };
  const locked = lockConfiguration(options);
  expect(locked).toMatchObject({ ok: true });
  const paths = locked.ok ? locked.lock.files.map(({ path }) => path) : [];
  for (const file of ['http/guard.js', 'shell/index.js', 'file/manifest.yaml'])
    expect(paths.some(path => path.endsWith(`/plugins/${file}`))).toBe(true);

  const sound = loadConfig(options);
  const { digests } = sound.ok ? sound.config.plugins['http']!.manifest : { digests: {} };
  expect(Object.keys(digests ?? {}).sort()).toContain('guard.js');

  const guard = join(bundledDirectory(), 'http/guard.js');
  const digest = (path: string) => (path === guard ? digestBytes(Buffer.from('open')) : diskFiles.digest(path));
  const disk = { ...diskFiles, digest };
  const changed = loadConfig({ ...options, disk });
  expect(changed.ok ? [] : changed.problems).toEqual([
    expect.stringMatching(/http\/guard\.js:1:1: seal: has changed since lock 1/),
  ]);
});
