// A backup onto a full disk: it is refused where the room is known to be too small, and else leaves nothing that looks whole.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { copyLedger } from '../../../runtime/store/copies.ts';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import { StoreFault } from '../../../runtime/store/store.ts';
import { makeWhole } from '../../../service/backup/files.ts';
import { writeBackup } from '../../../service/backup/write.ts';

const stateMib = 4;
const home = mkdtempSync(join(tmpdir(), 'headgate-full-'));
const disk = join(home, 'disk');
const state = join(home, 'state');
mkdirSync(disk);
const isMounted = mounts();
if (!isMounted) console.log('SKIPPED: a backup onto a full disk, because a small one cannot be mounted here');
afterAll(() => {
  if (isMounted) execFileSync('umount', ['-l', disk]);
  rmSync(home, { recursive: true });
});

function mounts(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!isMounted)(
  'needs twice the size of the state, and leaves nothing where a copy finds no room',
  async () => {
    const store = openStore(state);
    const batch = store.batch();
    for (let i = 0; i < stateMib; i++) batch.put('meta', Buffer.from(`filler ${i}`), Buffer.alloc(2 ** 20, i));
    store.commit(batch);
    store.close();
    const refused = writeBackup({ statePath: state, to: disk, version: '0.1.0' });
    await expect(refused).rejects.toThrow(/has 1\.0 MiB free; this backup needs \d+\.\d MiB, 2 times the size/);
    expect(readdirSync(disk)).toEqual([]);

    const target = join(disk, 'backup');
    const cut = makeWhole(target, directory => copyLedger(state, directory));
    await expect(cut).rejects.toThrow(StoreFault);
    await expect(makeWhole(target, directory => copyLedger(state, directory))).rejects.toThrow('No space left');
    expect(readdirSync(disk)).toEqual([]);
  },
);
