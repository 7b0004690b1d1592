// A backup onto a full disk: if the room is known to be too small, it is refused; otherwise it leaves nothing that looks like a whole backup.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyLedger } from '../../../runtime/store/copies.ts';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import { StoreFault } from '../../../runtime/store/store.ts';
import { makeWhole } from '../../../service/backup/files.ts';
import { writeBackup } from '../../../service/backup/write.ts';

const stateMib = 4;
const home = mkdtempSync(join(tmpdir(), 'headgate-full-'));
const disk = join(home, 'disk');
/** A disk that has room for the state or for a copy of it, but not for both. */
const larger = join(home, 'larger');
const state = join(home, 'state');
const isMounted = mount(disk, 1) && mount(larger, 6);
if (!isMounted) console.log('SKIPPED: a backup onto a full disk, because a small one cannot be mounted here');
beforeAll(() => {
  const store = openStore(state);
  const batch = store.batch();
  for (let i = 0; i < stateMib; i++) batch.put('meta', Buffer.from(`filler ${i}`), Buffer.alloc(2 ** 20, i));
  store.commit(batch);
  store.close();
});
afterAll(() => {
  if (isMounted) for (const each of [disk, larger]) execFileSync('umount', ['-l', each]);
  rmSync(home, { recursive: true });
});

function mount(at: string, mib: number): boolean {
  mkdirSync(at);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', at], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!isMounted)(
  'a backup needs the size of the state, and leaves nothing where a copy finds no room',
  async () => {
    const refused = writeBackup({ statePath: state, to: disk, version: '0.1.0' });
    await expect(refused).rejects.toThrow(
      /the disk of .*\/disk has 1\.0 MiB free; this backup needs 4\.\d MiB there, for the copy$/,
    );
    expect(readdirSync(disk)).toEqual([]);

    const target = join(disk, 'backup');
    const cut = makeWhole(target, directory => copyLedger(state, directory));
    await expect(cut).rejects.toThrow(StoreFault);
    await expect(makeWhole(target, directory => copyLedger(state, directory))).rejects.toThrow('No space left');
    expect(readdirSync(disk)).toEqual([]);
  },
);

test.skipIf(!isMounted)('on the disk of the state the ledger needs as much again to grow', async () => {
  const path = join(larger, 'backup');
  expect(await writeBackup({ statePath: state, to: path, version: '0.1.0' })).toMatchObject({ path });
  rmSync(path, { recursive: true });

  const full = join(larger, 'state');
  mkdirSync(full);
  copyFileSync(join(state, 'data.mdb'), join(full, 'data.mdb'));
  const elsewhere = writeBackup({ statePath: full, to: home, version: '0.1.0' });
  await expect(elsewhere).rejects.toThrow(
    /\/larger\/state has 1\.\d MiB free; this backup needs 4\.\d MiB there, for the growth of the ledger meanwhile$/,
  );
  const beside = writeBackup({ statePath: full, to: larger, version: '0.1.0' });
  await expect(beside).rejects.toThrow(
    /\/larger has 1\.\d MiB free; this backup needs 8\.\d MiB there, for the copy and the growth/,
  );
  expect(readdirSync(larger)).toEqual(['state']);
});
