// A full disk: new work is refused, reads are answered, and it goes on by itself when there is room.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import { StoreFull } from '../../../runtime/store/store.ts';
import { cyclesOf } from '../../support/deep.ts';
import { type Gateway, startGateway } from '../gateway/gateway.ts';
import { echo } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';

const disk = mountSmallDisk('32m');
const isMounted = disk !== null;
if (!isMounted) console.log('SKIPPED: a full disk, because a small one cannot be mounted here');
afterAll(() => {
  if (!isMounted) return;
  execFileSync('umount', ['-l', disk]);
  rmSync(disk, { recursive: true });
});

/** Mounts a file system in memory; returns its directory. Null: this process may not mount. */
function mountSmallDisk(size: string): string | null {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory], { stdio: 'ignore' });
    return directory;
  } catch {
    rmSync(directory, { recursive: true });
    return null;
  }
}

/** Takes all room that is left. */
function fill(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (let bytes = 2 ** 16; bytes >= 1; bytes = Math.floor(bytes / 2)) writeUntilFull(file, Buffer.alloc(bytes));
  } finally {
    closeSync(file);
  }
}

function writeUntilFull(file: number, bytes: Buffer): void {
  for (;;) {
    try {
      if (writeSync(file, bytes) === 0) return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

test.skipIf(!isMounted)('a commit for which there may be no room is refused before it writes anything', () => {
  const store = openStore(join(disk!, 'store'));
  const [key, filler] = [Buffer.from('key'), join(disk!, 'nearly')];
  const commit = (bytes: number) => {
    const batch = store.batch();
    batch.put('names', key, Buffer.alloc(bytes));
    store.commit(batch);
  };
  fill(filler);
  truncateSync(filler, statSync(filler).size - 2 ** 16);
  expect(() => commit(1)).toThrow(StoreFull);
  expect(() => commit(1)).toThrow(/has 0\.1 MiB free; this commit needs 0\.2 MiB/);
  expect(store.get('names', key)).toBeUndefined();
  truncateSync(filler, statSync(filler).size - 2 ** 20);
  expect(() => commit(2 ** 20)).toThrow(/has 1\.1 MiB free; this commit needs 2\.2 MiB/);
  commit(1);
  store.refresh();
  expect(store.get('names', key)).toHaveLength(1);
  store.close();
  rmSync(filler);
});

test.skipIf(!isMounted)(
  'nothing that was answered 202 is missing after a full disk',
  { timeout: 240_000 },
  async () => {
    const gateway = await startGateway({
      plugins: { echo },
      state: { path: join(disk!, 'data') },
      instances: { echo: { retry: { max_attempts: 10, backoff_base: '5ms', backoff_max: '50ms' } } },
    });
    const accepted: string[] = [];
    const callUntilRefused = () => Promise.all([1, 2, 3, 4].map(() => callOneByOne(gateway, accepted)));
    const filler = join(disk!, 'filler');

    for (let round = 1; round <= cyclesOf({ deep: 2, quick: 1 }); round++) {
      const refused = callUntilRefused();
      await until('there is load', () => accepted.length >= round * 100);
      fill(filler);
      for (const { status, headers, body } of await refused) {
        expect([status, body['code']], gateway.stderr.slice(-4000)).toEqual([503, 'disk_full']);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      }
      expect(await gateway.call('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
      for (const id of accepted) expect((await gateway.call('GET', `/job/${id}`)).status).toBe(200);
      rmSync(filler);
      const id = await until('it takes work again', () => gateway.submit('echo/handle').catch(() => null));
      accepted.push(id);
      for (const id of accepted) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded' });
    }

    await gateway.restart();
    for (const id of accepted) expect(await gateway.job(id)).toMatchObject({ status: 'succeeded' });
  },
);

/** Calls until a call is refused. Resolves with the refusal. */
async function callOneByOne(gateway: Gateway, accepted: string[]) {
  for (;;) {
    const answer = await gateway.call('POST', '/plugin/echo/handle', { payload: { text: 'x'.repeat(500) } });
    if (answer.status !== 202) return answer;
    accepted.push(String(answer.body['job_id']));
  }
}
