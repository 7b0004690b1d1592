// Disks whose syncs take long, disks that take no more writes, and disks that hang: what callers are answered, and what is stored afterwards.
// A full disk is filled in test/service/crash/disk.slow.test.ts.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { Gateway } from '../gateway/gateway.ts';
import { echo } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';
import { fileOf, hasStrace, ledgerFiles, readCalls } from './strace.ts';
import { callOnce, workload } from './workload.ts';

const syncMs = 200;
const writes = 'pwrite64,writev,fdatasync';
const gateway = new Gateway(workload);

/** Has the next start run under strace, which injects this fault into these system calls on files of the ledger. */
function diskThat(does: string, calls: string): void {
  const ledger = ledgerFiles(join(gateway.directory, 'data'));
  const words = ['-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', ...ledger];
  gateway.launch({ through: ['strace', ...words, '-e', `trace=${writes}`, '-e', `inject=${calls}:${does}`] });
}

describe.skipIf(!hasStrace)('a disk', () => {
  afterAll(() => gateway.discard());
  const accepted: string[] = [];

  test('that takes 200 ms for each sync makes commits late, and nothing else: work goes on, and /healthz and reads answer at once', async () => {
    diskThat(`delay_exit=${syncMs * 1000}`, 'fdatasync');
    await gateway.start();
    const { job_id: read } = await gateway.finished('echo/handle');
    const call = async (): Promise<string[]> => {
      const ids: string[] = [];
      for (const round of [1, 2, 3]) ids.push(...(await callOnce(gateway, round, false)));
      return ids;
    };
    const startMs = performance.now();
    let looks = 0;
    let isOver = false;
    const all = call().then(ids => {
      isOver = true;
      return ids;
    });
    while (!isOver) {
      expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ status: 'ok' });
      expect((await gateway.job(read)).status).toBe('succeeded');
      expect((await gateway.call('GET', '/jobs')).status).toBe(200);
      looks++;
    }
    accepted.push(...(await all));
    expect(performance.now() - startMs).toBeGreaterThan(syncMs);
    // Reads are answered during commits, because the main thread does not wait for commits.
    expect(looks).toBeGreaterThan(5);
    for (const id of accepted) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded' });
    await gateway.kill9();
  });

  test('that turns read-only ends the service with 74: until then who asks gets 503; it starts once the disk takes writes', async () => {
    diskThat('error=EROFS:when=5+', writes);
    await gateway.start();
    const statuses = new Set<number>();
    const gone = async (): Promise<boolean> => {
      try {
        const { status, headers, body } = await gateway.call('POST', '/plugin/echo/handle', { payload: {} });
        statuses.add(status);
        if (status === 202) accepted.push(String(body['job_id']));
        else expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        return false;
      } catch {
        return true;
      }
    };
    await until('the service is gone', gone, 10_000);
    expect([...statuses].filter(status => status !== 202 && status !== 503)).toEqual([]);
    const { status, signal } = await gateway.ended;
    // SIGABRT or SIGSEGV: lmdb-js 3.5.6 overruns the buffer of its message.
    expect(status === 74 || signal === 'SIGABRT' || signal === 'SIGSEGV', `${status} ${signal}`).toBe(true);

    diskThat('error=EROFS', writes);
    await expect(gateway.start()).rejects.toThrow('instead of getting ready');
    expect((await gateway.ended).status).not.toBe(0);

    gateway.launch({});
    await gateway.start();
    for (const id of accepted) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded' });
    expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
  });

  test('that fails the checkpoint of an idle service ends the service with 74, without another commit', async () => {
    const idle = new Gateway({ plugins: { echo }, state: { log: { segment: '1MB' } } });
    onTestFinished(() => idle.discard());
    const file = join(idle.directory, 'data/log/checkpoint-unfinished-2');
    const words = ['-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', '-P', file];
    idle.launch({ through: ['strace', ...words, '-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO'] });
    await idle.start();
    expect((await idle.call('POST', '/control/plugin/echo/pause', {})).status).toBe(200);
    // Together these two payloads fill a segment of the log. Their jobs do not run, because the plugin is paused.
    const payload = { text: 'x'.repeat(600_000) };
    for (const _ of [1, 2]) expect((await idle.call('POST', '/plugin/echo/handle', { payload })).status).toBe(202);
    expect(await idle.ended).toEqual({ status: 74, signal: null });
    expect(idle.stderr).toContain('the ledger cannot be written: EIO');
  });

  test('that fails a checkpoint for which another was made at once is not used again; the two have descriptors of their own', () => {
    const directory = mkdtempSync(join(tmpdir(), 'headgate-disk-'));
    const calls = join(directory, 'calls');
    const files = ['data.mdb', 'log/checkpoint-unfinished-2'].flatMap(name => ['-P', join(directory, 'data', name)]);
    const words = [
      '-f',
      '-y',
      '-qq',
      '-o',
      calls,
      ...files,
      '-e',
      'trace=fdatasync,fsync',
      '-e',
      'inject=fsync:error=EIO',
    ];
    const code = [process.execPath, '--input-type=module', '-e', abandonsCheckpoint, join(directory, 'data')];
    const { stdout, stderr } = spawnSync('strace', [...words, ...code], { encoding: 'utf8', timeout: 60_000 });
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^refused: .*EIO/), '']);
    const synced = new Map<number, Set<number>>();
    for (const { name, thread, words } of readCalls(readFileSync(calls, 'latin1'))) {
      if (name !== 'fdatasync') continue;
      const { descriptor } = fileOf(words)!;
      synced.set(thread, (synced.get(thread) ?? new Set()).add(descriptor));
    }
    const [main, background] = [...synced.values()].map(descriptors => [...descriptors]);
    expect(background).toHaveLength(1);
    expect(main).not.toContain(background![0]);
    rmSync(directory, { recursive: true });
  });
});

test('a disk of the backups that hangs stops nothing but the backups', async () => {
  const other = new Gateway({ plugins: { echo }, backups: { every: '1s' } });
  onTestFinished(() => other.discard());
  const backup = join(other.directory, 'backups/headgate-2026-01-01T00-00-00Z');
  mkdirSync(backup, { recursive: true });
  // The search for the newest backup waits for a writer of this pipe, as it would wait for a disk that hangs.
  execFileSync('mkfifo', [join(backup, 'manifest.json')]);
  await other.start();
  expect((await other.call('GET', '/system/doctor')).status).toBe(200);
  const dueMs = Date.now() + 2_000;
  await until('a backup would have begun', () => Date.now() > dueMs);
  expect(await other.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
  expect(other.log.filter(({ msg }) => String(msg).includes('backup'))).toEqual([]);
});

/** Begins a second checkpoint, abandons it for a third one, and commits until the store refuses. */
const abandonsCheckpoint = `
  const { openStore } = await import('${new URL('../../../dist/runtime/store/ledger-store.js', import.meta.url).href}');
  const mib = 2 ** 20;
  const store = openStore(process.argv[1], { log: { segmentBytes: mib, churnBytes: 1024 * mib } });
  const commit = bytes => {
    const batch = store.batch();
    batch.put('bodies', Buffer.from('key'), Buffer.alloc(bytes));
    store.commit(batch);
  };
  commit(1.2 * mib);
  store.checkpoint();
  try {
    for (const endMs = performance.now() + 20_000; performance.now() < endMs; ) {
      await new Promise(resolve => setImmediate(resolve));
      commit(1);
    }
  } catch (error) {
    console.log('refused: ' + error.message);
  }
`;
