// Files that a plugin in bubblewrap never sees, even if they are below a directory of the system, or in one that contains the plugin.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, onTestFinished, test } from 'vitest';
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

/** Prints the files again for each line of its input. */
const patientScript = `#!/bin/sh
while read line; do
  for file in "$@"; do cat "$file" 2>/dev/null || echo hidden; done
  echo end
done
`;

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

afterAll(() => {
  if (home !== null) rmSync(home, { recursive: true });
});

test.skipIf(home === null)('the state, the configuration and the keys, below /opt and around the plugin', async () => {
  const at = (name: string) => join(home!, 'gateway', name);
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

test.skipIf(home === null)('what is replaced or made while the program runs, in its own directory too', async () => {
  const at = (name: string) => join(home!, 'running', name);
  const put = (name: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text, { mode });
  };
  put('keys/tls.key', secret);
  // As Kubernetes mounts a secret: a new directory and a new link replace those of the old key.
  put('mounted/..1/tls.key', secret);
  symlinkSync('..1', at('mounted/..data'));
  symlinkSync('..data/tls.key', at('mounted/tls.key'));
  put('etc/config.yaml', secret);
  put('plugin/run.sh', patientScript, 0o755);
  put('plugin/own.key', secret);
  put('plugin/own', 'its own\n');
  put('keys/tls.crt', 'a certificate\n');
  const hidden = ['keys/tls.key', 'mounted/tls.key', 'etc', 'absent/backups', 'plugin/own.key', 'plugin/trail'].map(at);
  const secrets = [
    ...['keys/tls.key', 'mounted/tls.key', 'mounted/..2/tls.key', 'etc/config.yaml', 'absent/backups/data.mdb'],
    ...['plugin/own.key', 'plugin/trail/1.ndjson'],
  ];
  const sandbox = { kind: 'bwrap', limits: limitsDefault, hidden } as const;
  const plugin = { directory: at('plugin'), entrypoint: 'run.sh', instance: 'spy', sandbox };
  const [file, ...words] = commandLine(plugin, at('data/run'));
  const program = spawn(file!, [...words, ...[...secrets, 'plugin/own', 'keys/tls.crt'].map(at)]);
  onTestFinished(() => void program.kill('SIGKILL'));
  const lines = createInterface(program.stdout)[Symbol.asyncIterator]();
  const seen = async (): Promise<string[]> => {
    program.stdin.write('again\n');
    const found: string[] = [];
    for (let line = await lines.next(); !line.done && line.value !== 'end'; line = await lines.next())
      found.push(line.value);
    return found;
  };
  const all = [...secrets.map(() => 'hidden'), 'its own', 'a certificate'];
  expect(await seen()).toEqual(all);

  const replace = (name: string): void => {
    put(`new/${name}`, secret);
    renameSync(at(`new/${name}`), at(name));
  };
  replace('keys/tls.key');
  replace('plugin/own.key');
  put('mounted/..2/tls.key', secret);
  symlinkSync('..2', at('mounted/..next'));
  renameSync(at('mounted/..next'), at('mounted/..data'));
  renameSync(at('etc'), at('old'));
  for (const name of ['etc/config.yaml', 'absent/backups/data.mdb', 'plugin/trail/1.ndjson']) put(name, secret);
  expect(await seen()).toEqual(all);
  program.stdin.end();
  await once(program, 'exit');
});

test.skipIf(home === null)('a directory with too many other files is refused, not shown', async () => {
  const directory = join(home!, 'full');
  mkdirSync(directory);
  for (let i = 0; i <= 200; i++) writeFileSync(join(directory, `${i}`), '');
  const hidden = [join(directory, 'tls.key')];
  expect(await sandboxFault({ kind: 'bwrap', limits: limitsDefault, hidden })).toContain(
    `, in ${directory}; keep keys`,
  );
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
  // A key that does not exist yet, beside all the links to certificates.
  expect(seenBy([join(certificates, 'headgate-test.key')])).toBe(`${secret}a certificate\n`);
  expect(seenBy([])).toBe(`${secret}a certificate\n`);
});
