// Files that a plugin in bubblewrap never sees, even if they are below a directory of the system, or in one that contains the plugin.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../../config/load.ts';
import { commandLine, limitsDefault, type Sandbox, sandboxFault } from '../../../../runtime/processes/sandbox.ts';
import { pem } from '../../../feature/tls/pairs.ts';

const script = '#!/bin/sh\nfor file in "$@"; do cat "$file" 2>/dev/null || echo hidden; done\n';
const manifest = `manifest_spec: headgate.plugin
name: spy
version: 1.0.0
protocol: 2
entrypoint: run.sh
runtime: process
sandbox: bwrap
commands: [{ name: handle, type: write }]
`;
const secret = 'a secret\n';

const hasBwrap = (await sandboxFault({ kind: 'bwrap', limits: limitsDefault })) === null;
/** A place below /opt, where root may write. */
const home = ((): string | null => {
  if (!hasBwrap) return null;
  try {
    return mkdtempSync('/opt/headgate-test-');
  } catch {
    return null;
  }
})();
if (home === null)
  process.stderr.write('SKIPPED: what bubblewrap hides below /opt needs bwrap, and the right to write there\n');

test.skipIf(home === null)('the state, the configuration and the keys, below /opt and around the plugin', async () => {
  onTestFinished(() => rmSync(home!, { recursive: true }));
  const at = (name: string) => join(home!, name);
  const put = (name: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text, { mode });
  };
  const secrets = [
    'etc/config.yaml',
    'etc/parts/api.yaml',
    'etc/.env',
    'data/data.mdb',
    'backups/2026/data.mdb',
    'trail/audit-1-9.ndjson',
    'keys/vault.key',
    'keys/tls.key',
    'seal/seal.key',
  ];
  for (const name of secrets) put(name, secret);
  put(
    'etc/config.yaml',
    'include: [parts]\nstate: { path: ../data }\nbackups: { into: ../backups }\nvault: { key_file: ../keys/vault.key, audit_export: ../trail }\nplugin_roots: [plugins]\n',
  );
  put('etc/parts/api.yaml', 'api: { tls: { cert: ../../lib/tls.crt, key: ../../keys/tls.key } }\n');
  put('lib/tls.crt', pem('one.crt').toString());
  put('keys/tls.key', pem('one.key').toString(), 0o600);
  put('etc/plugins/spy/manifest.yaml', manifest);
  put('etc/plugins/spy/run.sh', script, 0o755);
  put('etc/plugins/other/data', secret);
  put('etc/plugins/spy/own', 'its own\n');
  put('lib/shared', 'shared\n');
  const env = { HEADGATE_SEAL_KEY_FILE: at('seal/seal.key') };
  const loaded = loadConfig({ path: at('etc'), env, cwd: '/' });
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  const { sandbox } = loaded.config.plugins['spy']!;

  const seenBy = (used: Sandbox, ...names: string[]) => {
    const plugin = { directory: at('etc/plugins/spy'), entrypoint: 'run.sh', instance: 'spy', sandbox: used };
    const [file, ...words] = commandLine(plugin, at('data/run'));
    return execFileSync(file!, [...words, ...names.map(at)]).toString();
  };
  const seen = seenBy(sandbox!, ...secrets, 'etc/plugins/other/data', 'etc/plugins/spy/own', 'lib/shared');
  expect(seen).toBe(`${'hidden\n'.repeat(secrets.length + 1)}its own\nshared\n`);
  // Without `hidden`, the plugin would see them.
  expect(seenBy({ ...sandbox!, hidden: [] }, 'data/data.mdb', 'keys/vault.key')).toBe(secret.repeat(2));
  expect(await sandboxFault(sandbox!)).toBe(null);
});

const certificates = '/etc/ssl/certs';
/** A directory of its own among the certificates of the system, which every program sees. */
const beside = ((): string | null => {
  if (!hasBwrap) return null;
  try {
    return mkdtempSync(join(certificates, 'headgate-test-'));
  } catch {
    return null;
  }
})();
if (beside === null)
  process.stderr.write(`SKIPPED: what bubblewrap hides in ${certificates} needs bwrap, and the right to write there\n`);

test.skipIf(beside === null)('a key beside the certificates of the system', () => {
  onTestFinished(() => rmSync(beside!, { recursive: true }));
  const key = join(beside!, 'tls.key');
  writeFileSync(key, secret);
  writeFileSync(join(beside!, 'tls.crt'), 'a certificate\n');
  const directory = mkdtempSync(join(tmpdir(), 'headgate-hidden-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'run.sh'), script, { mode: 0o755 });
  const seenBy = (hidden: readonly string[]) => {
    const sandbox = { kind: 'bwrap', limits: limitsDefault, hidden } as const;
    const plugin = { directory, entrypoint: 'run.sh', instance: 'spy', sandbox };
    const [file, ...words] = commandLine(plugin, join(directory, 'run'));
    return execFileSync(file!, [...words, key, join(beside!, 'tls.crt')]).toString();
  };
  expect(seenBy([key])).toBe('hidden\na certificate\n');
  expect(seenBy([])).toBe(`${secret}a certificate\n`);
});
