// `headgate config lock` and `config check` as people call them, and a `config lock` that is killed while it writes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openLock } from '../../../config/seal/lock.ts';
import { headgate } from '../cli/headgate.ts';
import { edit, load, locked, makeSealed, makeUnsealed, type Sealed } from './sealed.ts';

const command = ({ directory, env }: Sealed, word: string) =>
  headgate(['config', word, '--config', directory, '--json'], { env });

test('config lock says what it did, and that it made a key', async () => {
  const sealed = makeUnsealed(true);
  const { lockFile, keyFile } = sealed;
  const { status, json, stderr } = await command(sealed, 'lock');
  const told = { ok: true, lock: lockFile, number: 1, strict: true, files: 6, key_file: keyFile, warnings: [] };
  expect([status, json]).toEqual([0, told]);
  expect(stderr).toContain(`created the seal key ${keyFile}`);
});

test('config lock refuses what is wrong, with 78, and what cannot be written, with 74', async () => {
  const wrong = makeUnsealed(true);
  symlinkSync('/', join(wrong.directory, 'plugins/echo/out'));
  expect(await command(wrong, 'lock')).toMatchObject({ status: 78, json: { ok: false } });
  const sealed = makeUnsealed(true);
  writeFileSync(join(sealed.env['HOME']!, '.config'), 'no directory');
  expect(await command(sealed, 'lock')).toMatchObject({ status: 74, json: { code: 'not_written' } });
});

test('config check says of a seal: 0 as locked, 1 warnings only, 78 errors', async () => {
  for (const [strict, broken] of [
    [true, 78],
    [false, 1],
  ] as const) {
    const sealed = makeSealed(strict);
    expect((await command(sealed, 'check')).status).toBe(0);
    chmodSync(join(sealed.directory, 'api.yaml'), 0o664);
    const loose = await command(sealed, 'check');
    expect([loose.status, loose.stderr]).toEqual([1, expect.stringContaining('can be written by a group')]);
    edit(sealed, 'api.yaml', text => `${text}#`);
    const changed = await command(sealed, 'check');
    expect([changed.status, changed.stderr]).toEqual([broken, expect.stringContaining('has changed since lock 1')]);
  }
});

test('a lock that is killed while it is written is the old one or the new one', async () => {
  const sealed = makeSealed(true);
  const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
  const key = readFileSync(sealed.keyFile);
  let number = 1;
  for (const events of [1, 2, 3, 4]) {
    const words = [main, 'config', 'lock', '--config', sealed.directory];
    let seen = 0;
    // The watcher comes first: it must see what the command writes, however quick that is.
    const watcher = watch(sealed.directory, () => {
      if (++seen >= events) child.kill('SIGKILL');
    });
    const child = spawn(process.execPath, words, { env: { ...process.env, ...sealed.env }, stdio: 'ignore' });
    await once(child, 'exit');
    watcher.close();
    expect(seen).toBeGreaterThan(0);
    const now = openLock(readFileSync(sealed.lockFile), key)!.number;
    expect([number, number + 1]).toContain(now);
    expect(load(sealed)).toMatchObject({ ok: true, findings: [] });
    number = now;
  }
  locked(sealed);
  expect(readdirSync(sealed.directory).filter(name => name.includes('.new-'))).toEqual([]);
});
