// What a restore leaves alone in its directory, and what killed processes and other restores leave there.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openReaderBeside } from '../../../runtime/store/ledger-store.ts';
import { makeWhole } from '../../../service/backup/files.ts';
import { restoreBackup } from '../../../service/backup/restore.ts';
import { writeBackup } from '../../../service/backup/write.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import { Gateway } from '../gateway/gateway.ts';
import { worker } from '../gateway/sources.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const out = mkdtempSync(join(tmpdir(), 'headgate-restores-'));
afterAll(() => rmSync(out, { recursive: true }));

/** A gateway that has not started and has a vault. `ask` runs a command on its state. */
async function withVault() {
  const other = new Gateway({ plugins: { worker } });
  onTestFinished(() => other.discard());
  const ask = (...words: string[]) => headgate([...words, '--config', other.directory]);
  expect((await ask('vault', 'init')).status).toBe(0);
  const data = join(other.directory, 'data');
  return { ask, data, key: join(data, 'vault.key'), place: mkdtempSync(join(out, 'place-')) };
}

test('a restore replaces no other unlock key, which other backups may need, and no note of a newer lock', async () => {
  const { ask, data, key, place } = await withVault();
  const copy = join(place, 'copy');
  const note = join(data, 'seal.json');
  writeFileSync(note, '{"number":4,"strict":true}\n');
  await writeBackup({ statePath: data, to: copy, version: '0.1.0', vaultKeyFile: key });
  rmSync(note);
  expect((await ask('vault', 'rotate-key')).status).toBe(0);
  const newer = readFileSync(key);
  rmSync(join(data, 'data.mdb'));
  for (const path of [key, `${key}.next`]) {
    expect(await headgate(['restore', copy, '--into', data])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`${path} is another unlock key than that of the backup: move it away first`),
    });
    expect(readFileSync(path)).toEqual(newer);
    expect(existsSync(join(data, 'data.mdb'))).toBe(false);
    if (path === key) renameSync(key, `${key}.next`);
  }
  rmSync(`${key}.next`);
  const newerNote = '{"number":5,"strict":true}\n';
  writeFileSync(note, newerNote);
  expect(await headgate(['restore', copy, '--into', data])).toMatchObject({ status: 0 });
  expect(readFileSync(key)).toEqual(readFileSync(join(copy, 'vault.key')));
  expect(readFileSync(note, 'utf8')).toBe(newerNote);
});

test('the unlock key in a backup is the one that opens its vault, even while a change of the key is incomplete', async () => {
  const { ask, key, place } = await withVault();
  const copy = join(place, 'copy');
  const old = readFileSync(key);
  expect((await ask('vault', 'rotate-key')).status).toBe(0);
  // The state that a kill leaves between the commit and the renaming of the new key file.
  renameSync(key, `${key}.next`);
  writeFileSync(key, old, { mode: 0o600 });
  expect((await ask('backup', copy, '--with-vault-key')).status).toBe(0);
  const other = new Gateway({ plugins: { worker } });
  onTestFinished(() => other.discard());
  const into = join(other.directory, 'data');
  expect(await headgate(['restore', copy, '--into', into])).toMatchObject({
    status: 0,
    stderr: expect.stringContaining(
      `the unlock key is now ${join(into, 'vault.key')}: if "vault.key_file" names another file, move it there`,
    ),
  });
  await other.start();
  const { body } = await other.call('GET', '/system/doctor');
  expect(body['checks']).toContainEqual(expect.objectContaining({ name: 'vault', passed: true }));

  rmSync(`${key}.next`);
  expect(await ask('backup', `${copy}-2`, '--with-vault-key')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`no key at ${key} opens the vault of this backup`),
  });
  expect(existsSync(`${copy}-2`)).toBe(false);
});

test('what a kill leaves before or after the note of the writer hinders no backup and no restore', async () => {
  const { ask, place } = await withVault();
  const to = join(place, 'one');
  const twoMinutesAgo = new Date(Date.now() - 120_000);
  const leave = (name: string, file?: string) => {
    mkdirSync(join(place, name));
    if (file !== undefined) writeFileSync(join(place, name, file), '');
    utimesSync(join(place, name), twoMinutesAgo, twoMinutesAgo);
  };
  leave('one.partial');
  leave('two.partial', '.writer.json.new-0123456789ab');
  leave('mine.partial', 'mine');
  // Another process has just begun to write this one.
  mkdirSync(join(place, 'begun.partial'));
  expect(await ask('backup', to)).toMatchObject({ status: 0 });
  expect(readdirSync(place).sort()).toEqual(['begun.partial', 'mine.partial', 'one']);
  expect(readdirSync(to)).not.toContain('writer.json');
  writeFileSync(join(to, 'writer.json'), '{}');
  expect(await headgate(['backup', 'verify', to])).toMatchObject({ status: 0 });
  expect(await headgate(['restore', to, '--into', join(place, 'state')])).toMatchObject({ status: 0 });
});

test.runIf(process.getuid?.() === 0)('an unfinished copy of another user hinders no backup', async () => {
  const { place } = await withVault();
  const foreign = join(place, 'theirs.partial');
  mkdirSync(foreign, { mode: 0o700 });
  const twoMinutesAgo = new Date(Date.now() - 120_000);
  utimesSync(foreign, twoMinutesAgo, twoMinutesAgo);
  chmodSync(out, 0o755);
  chmodSync(place, 0o777);
  const nobody = 65_534;
  process.seteuid!(nobody);
  try {
    expect(() => readdirSync(foreign)).toThrow('EACCES');
    expect(await makeWhole(join(place, 'mine'), async directory => statSync(directory).uid)).toBe(nobody);
  } finally {
    process.seteuid!(0);
  }
  expect(readdirSync(place).sort()).toEqual(expect.arrayContaining(['mine', 'theirs.partial']));
});

test('of two restores into one directory at once, the first that ends wins, and the other is refused', async () => {
  const { ask, place } = await withVault();
  const [first, second, into] = ['first', 'second', 'state'].map(name => join(place, name)) as [string, string, string];
  for (const to of [first, second]) expect((await ask('backup', to)).status).toBe(0);
  let ended: number | null | undefined;
  const restoring = restoreBackup({
    backup: first,
    into,
    resumes: false,
    onBytes() {
      if (ended !== undefined) return;
      const words = ['dist/cli/main.js', 'restore', second, '--into', into];
      ended = spawnSync(process.execPath, words, { cwd: root, stdio: 'ignore' }).status;
    },
  });
  await expect(restoring).rejects.toThrow('another restore made a new state in');
  expect(ended).toBe(0);
  expect(readdirSync(into)).toEqual(['data.mdb', 'gate.lock']);
  const reader = openReaderBeside(into);
  const pauses = Array.from(reader.scan('pauses', {}), ({ value }) => Buffer.from(value).toString('latin1'));
  expect(pauses.filter(each => each.includes('restored from'))).toEqual([
    expect.stringContaining('restored from second'),
  ]);
  reader.close();
});
