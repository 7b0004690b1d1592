// The process that writes a backup, in the midst of the copy.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import type { ServiceOrder } from '../../../service/backup/process.ts';
import { until } from '../gateway/until.ts';

/** Makes a state of 64 MB below `home`, and begins to write a backup of it. Resolves when the copy has begun. */
export async function begunBackup(home: string): Promise<ChildProcessWithoutNullStreams> {
  const statePath = join(home, 'state');
  const store = openStore(statePath);
  for (let i = 0; i < 64; i++) {
    const batch = store.batch();
    batch.put('meta', Buffer.from(`filler ${i}`), Buffer.alloc(2 ** 20, i));
    store.commit(batch);
  }
  store.close();
  const order = { into: home, path: 'backup', statePath, version: '0.1.0' } satisfies ServiceOrder;
  const child = spawn(process.execPath, ['dist/service/backup/process.js', JSON.stringify(order)]);
  await until('the copy has begun', () => existsSync(join(home, 'backup.partial', 'data.mdb')));
  return child;
}
