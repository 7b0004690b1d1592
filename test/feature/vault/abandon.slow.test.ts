// `vault abandon`: the vault and its key are set aside whole, wherever it is killed, and the next trail begins with it.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { readAbandonment } from '../../../actors/vault/abandoned.ts';
import { readUnlock } from '../../../actors/vault/unlock-key.ts';
import { examineVault } from '../../../actors/vault/vault-check.ts';
import { readAudit } from '../../../cli/vault/audit.ts';
import { initVault } from '../../../cli/vault/init.ts';
import { heldVault, withStore } from '../../../cli/vault/offline.ts';
import { nextKeyFile } from '../../../config/key-file.ts';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import { Gateway } from '../../service/gateway/gateway.ts';
import { headgate } from '../cli/headgate.ts';
import { removal, VaultCommands } from './commands.ts';
import { VaultGateway, wholeTrail } from './service.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const at = new VaultCommands();

/** The condition of the vault: it opens, it does not, or there is none. */
function condition(): string {
  return withStore(at.place, store => examineVault(store, readUnlock(at.place.keys)).kind);
}

const abandoned = () => readdirSync(at.place.statePath).filter(name => name.startsWith('vault-abandoned-'));

/** The vault that was set aside, as a state directory with its key. */
function asidePlace() {
  const [name = ''] = abandoned().filter(one => /^vault-abandoned-\d{8}T\d{9}Z$/.test(one));
  return {
    statePath: join(at.place.statePath, name),
    keys: { file: join(at.place.statePath, `${name}.key`), variable: undefined },
  };
}

test('a vault is set aside with its key, and the trail of the next one begins with that', async () => {
  await at.run('init');
  const key = readFileSync(at.place.keys.file);
  const { status, json, stderr } = await at.run('abandon --yes');
  const aside = asidePlace();
  expect({ status, json }).toEqual({
    status: 0,
    json: { abandoned: true, records: aside.statePath, key_file: aside.keys.file },
  });
  expect(stderr).toContain('jobs now run without secrets');
  expect(condition()).toBe('absent');
  expect([existsSync(at.place.keys.file), readFileSync(aside.keys.file)]).toEqual([false, key]);
  expect(statSync(aside.keys.file).mode & 0o777).toBe(0o600);
  // The vault that was set aside is a state directory of its own, which opens with its key.
  expect(wholeTrail(readAudit(aside, {})).records.map(({ op }) => op)).toEqual(['vault.init']);
  expect(withStore(aside, store => heldVault(store, aside.keys).secrets.size)).toBe(0);

  expect((await at.run('abandon --yes')).status).toBe(1);
  expect((await at.run('init')).status).toBe(0);
  const { records } = wholeTrail(readAudit(at.place, {}));
  expect(records.map(({ seq, actor, op }) => [seq, actor, op])).toEqual([
    [1, 'command', 'vault.abandon'],
    [2, 'command', 'vault.init'],
  ]);
  expect(records[0]!.at).toBeLessThan(records[1]!.at);
  expect(withStore(at.place, readAbandonment)).toBeNull();
});

test('a key without a ledger, and a ledger without its key', async () => {
  withStore(at.place, () => {});
  writeFileSync(at.place.keys.file, 'a key of some vault');
  expect((await at.run('init')).json.detail).toContain('run "headgate vault abandon"');
  expect((await at.run('abandon --yes')).json).toMatchObject({ records: null, key_file: expect.any(String) });
  expect(condition()).toBe('absent');
  initVault(at.place);
  rmSync(at.place.keys.file);
  expect(condition()).toBe('sealed');
  expect((await at.run('abandon --yes')).json).toMatchObject({ records: expect.any(String), key_file: null });
  expect(condition()).toBe('absent');
});

test('a key file elsewhere is renamed where it lies, a waiting key too', async () => {
  const keys = join(at.directory, 'keys');
  mkdirSync(keys);
  writeFileSync(join(at.directory, 'config.yaml'), JSON.stringify({ vault: { key_file: 'keys/mine' } }));
  at.place = { ...at.place, keys: { file: join(keys, 'mine'), variable: undefined } };
  initVault(at.place);
  writeFileSync(at.place.keys.file, 'overwritten by mistake, 32 bytes');
  writeFileSync(nextKeyFile(at.place.keys.file), 'opens nothing either, so it stays');
  expect((await at.run('abandon --yes')).status).toBe(0);
  expect(readdirSync(keys)).toEqual([
    expect.stringMatching(/^vault-abandoned-\d{8}T\d{9}Z\.key$/),
    expect.stringMatching(/^vault-abandoned-\d{8}T\d{9}Z\.key\.next$/),
  ]);
});

test.runIf(process.getuid?.() !== 0)('it is refused where the key file cannot be renamed', async () => {
  const keys = join(at.directory, 'keys');
  mkdirSync(keys);
  writeFileSync(join(at.directory, 'config.yaml'), JSON.stringify({ vault: { key_file: 'keys/mine' } }));
  at.place = { ...at.place, keys: { file: join(keys, 'mine'), variable: undefined } };
  initVault(at.place);
  chmodSync(keys, 0o500);
  onTestFinished(() => chmodSync(keys, 0o700));
  expect(await at.run('abandon --yes')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('the key file cannot be renamed'),
  });
  expect(condition()).toBe('open');
});

test('it is refused without --yes, with the key in the environment, and where there is no vault', async () => {
  expect(await at.run('abandon --yes')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`there is no vault in ${at.place.statePath}`),
  });
  await at.run('init');
  expect(await at.run('abandon')).toMatchObject({ status: 2, stderr: expect.stringContaining('add --yes') });
  expect(await at.run('abandon --yes', { HEADGATE_VAULT_KEY: 'ab'.repeat(32) })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('unset HEADGATE_VAULT_KEY first, here and for the service'),
  });
  expect([condition(), abandoned()]).toEqual(['open', []]);
});

test('beside a running service it is refused; after it the jobs run, without secrets', async () => {
  const gateway = new Gateway({
    plugins: { keeper: 'export const handle = ({ secrets }) => ({ result: { names: Object.keys(secrets ?? {}) } });' },
  });
  onTestFinished(() => gateway.discard());
  const own = new VaultGateway(gateway);
  await gateway.start();
  await own.do('principal', { name: 'keeper', kind: 'plugin' });
  await own.do('secret', { name: 'kept', value: 'the value that is kept', authorized_principals: ['keeper'] });
  const words = ['vault', 'abandon', '--yes', '--config', gateway.directory];
  expect(await headgate(words)).toMatchObject({
    status: 75,
    stderr: expect.stringContaining(`process ${gateway.pid}`),
  });
  await gateway.term();
  rmSync(own.place.keys.file);
  await gateway.start();
  const id = await gateway.submit('keeper/handle');
  expect(await gateway.job(id)).toMatchObject({ status: 'queued' });
  await gateway.term();
  expect((await headgate(words)).status).toBe(0);
  await gateway.start();
  expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', result: { result: { names: [] } } });
});

test('kill -9 after each step leaves the old vault, or the one that was set aside, whole', { timeout: 60_000 }, () => {
  const endings: string[] = [];
  for (let steps = 1; ; steps++) {
    for (const name of readdirSync(at.directory)) rmSync(join(at.directory, name), removal);
    initVault(at.place);
    writeFileSync(nextKeyFile(at.place.keys.file), 'a waiting key that opens nothing');
    // The remains of an earlier `vault abandon` that was killed.
    mkdirSync(join(at.place.statePath, 'vault-abandoned-20200101T000000000Z-partial'));
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', killedAfter(steps)], { cwd: root });
    if (child.signal === null) {
      expect([child.status, String(child.stderr)]).toEqual([0, '']);
      break;
    }
    const decided = withStore(at.place, store => readAbandonment(store) !== null);
    endings.push(decided ? 'aside' : 'old');
    // Opening the store, as the next command does, has completed an abandonment that was decided.
    expect(condition(), `step ${steps}`).toBe(decided ? 'absent' : 'open');
    const { records, broken } = wholeTrail(readAudit(decided ? asidePlace() : at.place, {}));
    expect([records.map(({ op }) => op), broken]).toEqual([['vault.init'], null]);
    expect(existsSync(at.place.keys.file)).toBe(!decided);
    expect(abandoned().filter(name => name.endsWith('-partial')).length).toBe(decided ? 0 : 1);
    expect(withStore(at.place, store => store.count('vault_audit'))).toBe(decided ? 0 : 1);
  }
  expect(endings[0]).toBe('old');
  expect(endings.slice(1).every(one => one === 'aside')).toBe(true);
  expect(endings.length).toBeGreaterThan(5);
});

function killedAfter(steps: number): string {
  return `
    import { abandonSteps } from './dist/cli/vault/abandon.js';
    import { openStore } from './dist/runtime/store/ledger-store.js';
    const place = ${JSON.stringify(at.place)};
    const store = openStore(place.statePath);
    let left = ${steps};
    for (const _ of abandonSteps(store, place, Date.now())) if (--left === 0) process.kill(process.pid, 'SIGKILL');
    store.close();`;
}

test('a start does the rest of what was killed', async () => {
  const gateway = new Gateway({ plugins: { plain: 'export const handle = () => ({});' } });
  onTestFinished(() => gateway.discard());
  at.place = new VaultGateway(gateway).place;
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', killedAfter(2)], { cwd: root }).signal).toBe(
    'SIGKILL',
  );
  expect(existsSync(at.place.keys.file)).toBe(true);
  await gateway.start();
  expect(await gateway.finished('plain/handle')).toMatchObject({ status: 'succeeded' });
  expect([existsSync(at.place.keys.file), existsSync(asidePlace().keys.file)]).toEqual([false, true]);
  await gateway.term();
  const store = openStore(at.place.statePath);
  expect(readAbandonment(store)?.isSettled).toBe(true);
  store.close();
});
