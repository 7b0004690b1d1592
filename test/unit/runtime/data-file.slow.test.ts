// The size of the ledger's data file under a constant load.
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ledgerFile, openStore } from '../../../runtime/store/ledger-store.ts';
import { tables } from '../../../runtime/store/store.ts';
import { seededRandom } from '../../service/crash/random.ts';

// In memory no commit waits for a disk, and only the size of the file matters here.
const memory = '/dev/shm';
const scratch = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'headgate-data-file-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const mib = 2 ** 20;
const pageBytes = 4096;
const commitsPerCheckpoint = 800;
const checkpoints = 120;

test('while the number of records stays the same, the data file stops growing, and no record is lost', () => {
  const store = openStore(scratch, { log: { segmentBytes: 256 * mib, churnBytes: 256 * mib } });
  const written = tables.filter(table => table !== 'meta').slice(0, 8);
  const random = seededRandom();
  const pages: number[] = [];
  const records = new Map(written.map(table => [table, new Map<string, number>()]));
  for (let n = 1; n <= checkpoints * commitsPerCheckpoint; n++) {
    const batch = store.batch();
    for (const table of written) {
      const key = Buffer.alloc(16);
      key.writeUInt32BE(random.between(1, 2_000));
      const isPut = random.between(0, 1) === 0;
      if (isPut) batch.put(table, key, Buffer.alloc(120, n));
      else batch.remove(table, key);
      if (isPut) records.get(table)!.set(key.toString('hex'), n % 256);
      else records.get(table)!.delete(key.toString('hex'));
    }
    store.commit(batch);
    if (n % commitsPerCheckpoint === 0) {
      store.checkpoint();
      pages.push(statSync(ledgerFile(scratch)).size / pageBytes);
    }
  }
  store.refresh();
  for (const [table, expected] of records) {
    const found = Array.from(store.scan(table, {}), ({ key, value }) => [Buffer.from(key).toString('hex'), value[0]]);
    expect(found).toEqual([...expected].toSorted());
  }
  store.close();
  // Without `freeListKeeper`, the last 40 checkpoints add some 350 pages.
  expect(pages.at(-1)! - pages.at(-41)!).toBeLessThan(60);
});
