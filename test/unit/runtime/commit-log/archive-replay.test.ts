// A copy of the ledger plus the archived log gives the state as of a time, whatever the segments are and however often the process died.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { listSegments } from '../../../../runtime/commit-log/segments.ts';
import { appliedIn } from '../../../../runtime/store/applied.ts';
import { replayArchive } from '../../../../runtime/store/archive-replay.ts';
import { copyLedger, readCopy } from '../../../../runtime/store/copies.ts';
import { type LedgerStore, openStore } from '../../../../runtime/store/ledger-store.ts';
import { seededRandom } from '../../../service/crash/random.ts';
import { until } from '../../../service/gateway/until.ts';
import { cyclesOf } from '../../../support/deep.ts';

const scratch = mkdtempSync(join(tmpdir(), 'headgate-archive-replay-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const mib = 2 ** 20;
const archive = join(scratch, 'archive');
const base = join(scratch, 'base');

function open(path: string): LedgerStore {
  const store = openStore(path, { log: { segmentBytes: mib, churnBytes: 1024 * mib }, keeps: true });
  store.archiveTo(archive, message => {
    throw new Error(message);
  });
  return store;
}

/** How far the ledger's clock, which never goes back, may be ahead of the system's clock after an adjustment of the latter. */
const aheadMsMax = 5;

/** Commits a turn; returns a time at which this turn is the newest one. */
async function commit(store: LedgerStore, name: string, bytes: number): Promise<number> {
  const batch = store.batch();
  batch.put('names', Buffer.from(name), Buffer.alloc(bytes, name));
  store.commit(batch);
  const at = Date.now() + aheadMsMax;
  await until('the next millisecond', () => Date.now() > at);
  return at;
}

/** Brings a copy to this time; returns the names in it. */
async function asOf(time: number, log = archive): Promise<{ readonly names: string[]; readonly goesOn: boolean }> {
  const copy = mkdtempSync(join(scratch, 'copy-'));
  cpSync(join(base, 'data.mdb'), join(copy, 'data.mdb'));
  const { goesOn } = await replayArchive(copy, log, time);
  const names = await readCopy(copy, reader =>
    Array.from(reader.keys('names', {}), key => Buffer.from(key).toString()),
  );
  rmSync(copy, { recursive: true });
  return { names, goesOn };
}

test('each turn is there from its time on, and a lost segment ends the log', async () => {
  const random = seededRandom();
  let path = join(scratch, 'state-0');
  let store = open(path);
  const names = ['n100'];
  const times = [await commit(store, 'n100', 100)];
  mkdirSync(base);
  await copyLedger(path, base);
  for (let n = 101; n < 150; n++) {
    names.push(`n${n}`);
    times.push(await commit(store, `n${n}`, n === 125 ? 9 * mib : random.between(1, n % 3 === 2 ? 400_000 : 2_000)));
    if (n % 12 === 0 || n % 5 === 0) store.checkpoint();
    if (n % 12 === 0) await store.archived();
    if (n % 12 !== 1) continue;
    // The process dies before its last turn is archived, and the next one goes on with its state.
    const next = join(scratch, `state-${n}`);
    cpSync(path, next, { recursive: true });
    rmSync(join(next, 'owner'));
    store.close();
    path = next;
    store = open(path);
  }
  await store.archived();
  store.close();

  for (let n = 0; n < times.length; n += cyclesOf({ deep: 4, quick: 12 }))
    expect(await asOf(times[n]!), names[n]!).toEqual({ names: names.slice(0, n + 1), goesOn: n < times.length - 1 });
  expect(await asOf(times.at(-1)!)).toEqual({ names, goesOn: false });

  const segments = listSegments(archive);
  expect(segments.length).toBeGreaterThan(12);
  const gap = join(scratch, 'gap');
  cpSync(archive, gap, { recursive: true });
  rmSync(join(gap, segments[6]!.path.slice(archive.length)));
  const reached = await asOf(times.at(-1)!, gap);
  expect(reached.goesOn).toBe(false);
  expect(reached.names).toEqual(names.slice(0, reached.names.length));
  expect(reached.names.length).toBeLessThan(names.length);
});

test('the times of turns go on when a state is opened after the clock was set back', () => {
  onTestFinished(() => void vi.useRealTimers());
  const path = join(scratch, 'set-back');
  const hourMs = 3_600_000;
  let lastUs = 0;
  for (const aheadMs of [0, hourMs, 0, 0]) {
    vi.useFakeTimers({ toFake: ['Date'], now: performance.timeOrigin + performance.now() + aheadMs });
    const store = openStore(path);
    const batch = store.batch();
    batch.put('names', Buffer.from('name'), Buffer.from('value'));
    store.commit(batch);
    const { atUs } = appliedIn(store)!;
    store.close();
    expect(atUs).toBeGreaterThanOrEqual(lastUs);
    lastUs = atUs!;
  }
  expect(lastUs / 1000).toBeGreaterThan(Date.now() + hourMs / 2);
});
