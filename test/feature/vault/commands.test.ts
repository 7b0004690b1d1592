// The commands that work on the vault itself while the service is stopped; and what kill -9 leaves of a change of keys.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { run } from '../../../cli/run.ts';
import { readAudit } from '../../../cli/vault/audit.ts';
import { heldVault, withStore } from '../../../cli/vault/offline.ts';
import { nextKeyFile } from '../../../config/key-file.ts';
import { identify } from '../../../runtime/processes/identity.ts';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import { ownerPath } from '../../../runtime/store/owner.ts';
import { headgate } from '../cli/headgate.ts';
import { VaultCommands } from './commands.ts';
import { wholeTrail } from './service.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const at = new VaultCommands();

function opens(keys = at.place.keys): boolean {
  return withStore({ ...at.place, keys }, store => {
    try {
      heldVault(store, keys);
      return true;
    } catch {
      return false;
    }
  });
}

test('init makes key file and vault, prints the admin token once, and overwrites nothing', async () => {
  const { status, json } = await at.run('init');
  expect({ status, json }).toEqual({
    status: 0,
    json: { admin_token: expect.stringMatching(/^hga_[\w-]{43}$/), key_file: at.place.keys.file },
  });
  const { size, mode } = statSync(at.place.keys.file);
  expect([size, mode & 0o777]).toEqual([32, 0o600]);
  expect(opens()).toBe(true);
  const before = readFileSync(at.place.keys.file);
  expect((await at.run('init')).status).toBe(1);
  expect(readFileSync(at.place.keys.file)).toEqual(before);
});

test('init does not overwrite a key file that has no vault', async () => {
  withStore(at.place, () => {});
  writeFileSync(at.place.keys.file, 'something');
  expect((await at.run('init')).status).toBe(1);
  expect(readFileSync(at.place.keys.file, 'utf8')).toBe('something');
});

test('beside a running service init is refused, naming its process', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  await once(child, 'spawn');
  onTestFinished(() => void child.kill('SIGKILL'));
  openStore(at.place.statePath).close();
  writeFileSync(ownerPath(at.place.statePath), JSON.stringify({ ...identify(child.pid!), epoch: 1 }));
  for (const words of ['init', 'rotate-key', 'reset-admin-token']) {
    const { status, stderr } = await at.run(words);
    expect([status, stderr]).toEqual([75, expect.stringContaining(`in use by process ${child.pid}`)]);
  }
});

test('rotate-key: the old key opens nothing, and the trail goes on', async () => {
  await at.run('init');
  const old = join(at.directory, 'old.key');
  copyFileSync(at.place.keys.file, old);
  expect(await at.run('rotate-key')).toMatchObject({
    status: 0,
    json: { rotated: true, key_file: at.place.keys.file },
  });
  expect([opens(), opens({ file: old, variable: undefined })]).toEqual([true, false]);
  const { records, broken } = wholeTrail(readAudit(at.place, {}));
  expect([records.map(({ op }) => op), broken]).toEqual([['vault.init', 'key.rotate'], null]);
});

test('with the key in the environment no file is made, and a new key is shown before it is in force', async () => {
  const env = { HEADGATE_VAULT_KEY: 'ab'.repeat(32) };
  expect((await at.run('init', env)).json).toMatchObject({ key_file: null });
  expect(existsSync(at.place.keys.file)).toBe(false);
  const { status, stderr } = await at.run('rotate-key', env);
  const [fresh] = /^[\da-f]{64}$/m.exec(stderr) ?? [''];
  expect([status, fresh.length]).toEqual([0, 64]);
  const opensWith = (variable: string) => opens({ ...at.place.keys, variable });
  expect([
    opensWith(fresh),
    opensWith(Buffer.from(fresh, 'hex').toString('base64')),
    opensWith(env.HEADGATE_VAULT_KEY),
  ]).toEqual([true, true, false]);
});

test('a new key that stderr does not take is not put in force', async () => {
  const env = { HEADGATE_VAULT_KEY: 'ab'.repeat(32) };
  await at.run('init', env);
  const stderr = new Writable({ write: (_, __, done) => done(new Error('no space left')) }).on('error', () => {});
  const io = { stdin: new PassThrough(), stdout: new PassThrough(), stderr, env, cwd: '/' };
  await expect(run(['vault', 'rotate-key', '--config', at.directory], io)).rejects.toThrow('no space left');
  expect(opens({ ...at.place.keys, variable: env.HEADGATE_VAULT_KEY })).toBe(true);
});

/** The built command, with a stdout that takes nothing. */
async function toFullDisk(words: string): Promise<{ readonly status: number | null; readonly stderr: string }> {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, ['dist/cli/main.js', 'vault', ...words.split(' '), '--config', at.directory], {
    cwd: root,
    stdio: ['ignore', full, 'pipe'],
  });
  closeSync(full);
  const [stderr, [status]] = await Promise.all([text(child.stderr!), once(child, 'close')]);
  return { status, stderr };
}

test.runIf(existsSync('/dev/full'))('an admin token that cannot be printed takes no effect', async () => {
  expect(await toFullDisk('init')).toEqual({ status: 74, stderr: expect.stringContaining('no vault was created') });
  expect([existsSync(at.place.keys.file), existsSync(nextKeyFile(at.place.keys.file)), opens()]).toEqual([
    false,
    false,
    false,
  ]);
  await at.run('init');
  const told = await toFullDisk('reset-admin-token');
  expect(told).toEqual({ status: 74, stderr: expect.stringContaining('the old one is still in force') });
  expect(wholeTrail(readAudit(at.place, {})).records.map(({ op }) => op)).toEqual(['vault.init']);
});

test('a reader of the admin token that is gone before it is printed leaves no vault either', async () => {
  const stdout = new Writable({ write: (_, __, done) => done(new Error('EPIPE')) }).on('error', () => {});
  const io = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), env: {}, cwd: '/' };
  expect(await run(['vault', 'init', '--config', at.directory], io)).toBe(74);
  expect([existsSync(at.place.keys.file), opens()]).toEqual([false, false]);
});

test('a lost admin token is replaced', async () => {
  const { json: made } = await at.run('init');
  const { status, json } = await at.run('reset-admin-token');
  expect(status).toBe(0);
  expect(json.admin_token).not.toBe(made.admin_token);
});

test('audit prints, filters and verifies', async () => {
  expect((await at.run('audit')).status).toBe(1);
  await at.run('init');
  await at.run('reset-admin-token');
  const { status, json } = await at.run('audit');
  expect(status).toBe(0);
  expect(json).toMatchObject({
    records: [
      { seq: 1, op: 'vault.init' },
      { seq: 2, actor: 'command' },
    ],
    verified: true,
  });
  expect((await at.run('audit --op vault.init')).json.records).toHaveLength(1);
  const shown = await headgate(['vault', 'audit', '--config', at.directory]);
  expect(shown.stdout).toMatch(/^seq +at +actor.*\n +1 .* command +vault\.init/m);
  const store = openStore(at.place.statePath);
  const batch = store.batch();
  batch.remove('vault_audit', Buffer.from('0000000000000001', 'hex'));
  store.commit(batch);
  store.close();
  const { status: after, json: told, stderr } = await at.run('audit');
  expect([after, told.verified]).toEqual([1, false]);
  expect(stderr).toContain('records 1 to 1 are missing');
});

test('a long trail is printed page by page: one table, one document', async () => {
  await at.run('init');
  withStore(at.place, store => {
    const held = heldVault(store, at.place.keys);
    const batch = store.batch();
    const record = { at: 0, op: 'deliver', principal: 'p', secret: 's', outcome: 'ok', code: null } as const;
    for (let i = 0; i < 600; i++) held.audit(batch, { ...record, actor: `job:${i}` });
    held.close(batch);
    store.commit(batch);
  });
  const pages = [...readAudit(at.place, {})].map(page => page.length);
  expect(pages).toEqual([256, 256, 89]);
  const { json } = await at.run('audit');
  expect([json.records.length, json.records[600].seq, json.verified]).toEqual([601, 601, true]);
  expect((await at.run('audit --op nothing')).json).toEqual({ records: [], verified: true });
  const { stdout } = await headgate(['vault', 'audit', '--config', at.directory]);
  expect(stdout.match(/^seq/gm)).toHaveLength(1);
  expect(
    new Set(
      stdout
        .trimEnd()
        .split('\n')
        .slice(257)
        .map(line => line.indexOf('deliver')),
    ).size,
  ).toBe(1);
});

test('kill -9 while keys are changed leaves a vault that opens under exactly one key', {
  timeout: 120_000,
}, async () => {
  await at.run('init');
  const loop = `
    import { randomBytes } from 'node:crypto';
    import { rotateKey } from './dist/cli/vault/rotate-key.js';
    process.stdout.write('.');
    for (;;) { rotateKey(${JSON.stringify(at.place)}, randomBytes(32)); process.stdout.write('.'); }`;
  for (let cycle = 0; cycle < 3; cycle++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', loop], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const gone = once(child, 'close');
    let rounds = 0;
    for await (const dots of child.stdout) {
      rounds += dots.length;
      if (rounds > cycle) break;
    }
    child.kill('SIGKILL');
    await gone;
    const candidates = [at.place.keys.file, nextKeyFile(at.place.keys.file)].filter(existsSync).map((file, i) => {
      const copy = join(at.directory, `copy-${i}`);
      copyFileSync(file, copy);
      return copy;
    });
    // The trail can be read before a command has completed the change of keys.
    expect(wholeTrail(readAudit(at.place, {})).broken).toBeNull();
    expect(candidates.filter(file => opens({ file, variable: undefined }))).toHaveLength(1);
    expect(opens()).toBe(true);
    expect(existsSync(nextKeyFile(at.place.keys.file))).toBe(false);
  }
});
