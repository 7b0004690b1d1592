// `headgate restore --until`: a state as of a time, from a backup and the copies of the commit log.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { appliedKey } from '../../../runtime/store/applied.ts';
import { openLmdb } from '../../../runtime/store/lmdb.ts';
import { tables } from '../../../runtime/store/store.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import type { Settings } from '../gateway/configuration.ts';
import { Gateway, startGateway } from '../gateway/gateway.ts';
import { echo } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';

const settings: Settings = { plugins: { echo }, backups: { every: '1h', log: true } };
const into = (gateway: Gateway) => join(gateway.directory, 'backups');
const backupsIn = (gateway: Gateway) =>
  existsSync(into(gateway)) ? readdirSync(into(gateway)).filter(name => /^headgate-.*Z$/.test(name)) : [];

const storeOf = (gateway: Gateway) => gateway.log.find(({ msg }) => msg === 'ready')!['store'];

/** A service that has written its first backup. */
async function started(of: Settings): Promise<Gateway> {
  const gateway = await startGateway(of);
  await until('a backup', () => backupsIn(gateway).length > 0);
  return gateway;
}

/** Returns a time that is later than all commits so far and earlier than all commits after the return. Waits until this time has passed. */
async function momentOf(): Promise<string> {
  const at = Date.now() + 1;
  await until('it has passed', () => Date.now() > at);
  return new Date(at).toISOString();
}

/** A gateway whose state was restored. */
async function restored(of: Gateway, time: string): Promise<Gateway> {
  const other = new Gateway({ plugins: { echo } });
  onTestFinished(() => other.discard());
  const { status, stderr } = await restore(of, time, join(other.directory, 'data'));
  expect(status, stderr).toBe(0);
  await other.start();
  return other;
}

const restore = (of: Gateway, time: string, to: string) =>
  headgate(['restore', into(of), '--until', time, '--into', to]);

const isKnown = async (gateway: Gateway, id: string) => (await gateway.call('GET', `/job/${id}`)).status === 200;

test('a state is restored as of a time between two jobs, across a kill', async () => {
  const gateway = await started(settings);
  const { job_id: first } = await gateway.finished('echo/handle', { n: 1 });
  const afterFirst = await momentOf();
  const { job_id: second } = await gateway.finished('echo/handle', { n: 2 });
  await gateway.kill9();
  await gateway.start();
  const afterSecond = await momentOf();
  const { job_id: third } = await gateway.finished('echo/handle', { n: 3 });
  await gateway.term();

  const one = await restored(gateway, afterFirst);
  expect([await isKnown(one, first), await isKnown(one, second)]).toEqual([true, false]);
  expect((await one.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok', failures: [] });
  expect((await one.call('GET', '/pauses')).body['pauses']).toMatchObject([
    { reason: expect.stringMatching(/^restored from headgate-\S+ as of 20\S+Z$/) },
  ]);
  const two = await restored(gateway, afterSecond);
  const known = await Promise.all([first, second, third].map(id => isKnown(two, id)));
  expect(known).toEqual([true, true, false]);
  expect((await two.job(second)).status).toBe('succeeded');

  // A time after the end of the log is refused; the message names the latest time to which the state can be restored.
  const late = await restore(gateway, '2099-01-01T00:00:00Z', join(two.directory, 'late'));
  expect(late.status).toBe(1);
  const [, end] = /without a gap until (\S+): name/.exec(late.stderr) ?? [];
  expect(await isKnown(await restored(gateway, end!), third)).toBe(true);
});

test('the log goes on to its directory where a reload has removed the whole section', async () => {
  const gateway = await startGateway({ plugins: { echo }, backups: { every: '1h', into: './kept', log: true } });
  const kept = join(gateway.directory, 'kept');
  await until('a backup', () => existsSync(kept) && readdirSync(kept).some(name => name.endsWith('Z')));
  gateway.write({ plugins: { echo } });
  const { body } = await gateway.call('POST', '/system/reload');
  expect(body['message']).toBe('configuration reloaded; a restart is needed for backups');
  await gateway.finished('echo/handle');
  await gateway.term();
  // The stop copies what is left of the log.
  expect(existsSync(into(gateway))).toBe(false);
  expect(readdirSync(join(kept, `log-${storeOf(gateway)}`))).not.toEqual([]);
});

test('a backup of a restored state does not hide what its original did before the restore', async () => {
  const gateway = await started(settings);
  const [first] = backupsIn(gateway);
  const { job_id: id } = await gateway.finished('echo/handle', {});
  const time = await momentOf();
  await gateway.finished('echo/handle', {});
  await gateway.term();
  const data = join(gateway.directory, 'data');
  rmSync(data, { recursive: true });
  expect((await headgate(['restore', join(into(gateway), first!), '--into', data])).status).toBe(0);
  expect((await headgate(['backup', into(gateway), '--config', gateway.directory])).status).toBe(0);
  expect(backupsIn(gateway).length).toBe(2);
  expect(await isKnown(await restored(gateway, time), id)).toBe(true);
});

test('without the log, or past its end, nothing is restored, and the span is named', async () => {
  const gateway = await started({ plugins: { echo }, backups: { every: '1h' } });
  await gateway.finished('echo/handle', {});
  const time = await momentOf();
  await gateway.term();
  const to = join(gateway.directory, 'restored');
  const { status, stderr } = await restore(gateway, time, to);
  expect(status).toBe(1);
  expect(stderr).toContain(`${time} cannot be restored: there is no log directly after the backup `);
  expect(stderr).toContain('"backups.log: true" keeps the log');
  const early = await restore(gateway, '2020-01-01T00:00:00Z', to);
  expect(early.status).toBe(1);
  expect(early.stderr).toMatch(/the oldest backup in .* is from 20\d\d-/);
  expect((await restore(gateway, '2020-99-01T00:00:00Z', to)).status).toBe(2);
  expect((await headgate(['restore', gateway.directory, '--until', time, '--into', to])).stderr).toContain(
    'is not a backup, and contains none',
  );
  expect(existsSync(join(to, 'data.mdb'))).toBe(false);
});

test('the log before the oldest backup is removed with it; commands on the stopped state leave no gap', async () => {
  const gateway = await started(settings);
  await gateway.finished('echo/handle', {});
  await gateway.term();
  const archive = join(into(gateway), readdirSync(into(gateway)).find(name => name.startsWith('log-'))!);
  const [oldest] = readdirSync(archive).sort();
  expect(oldest).toMatch(/^\d{12}\.log$/);
  expect((await headgate(['vault', 'init', '--config', gateway.directory])).status).toBe(0);
  await gateway.start();
  const { job_id: id } = await gateway.finished('echo/handle', {});
  const time = await momentOf();
  await gateway.finished('echo/handle', {});
  await gateway.term();
  expect(await isKnown(await restored(gateway, time), id)).toBe(true);

  await gateway.start();
  await gateway.reload({ ...settings, backups: { every: '1s', keep: 1, log: true } });
  await until('it is gone', () => !readdirSync(archive).includes(oldest!));
});

test('a copy of the state that takes its place gets an id of its own, so that its turns do not follow those of the other', async () => {
  const gateway = await started(settings);
  await gateway.finished('echo/handle', {});
  await gateway.term();
  const data = join(gateway.directory, 'data');
  cpSync(data, `${data}-copy`, { recursive: true });
  await gateway.start();
  const { job_id: other } = await gateway.finished('echo/handle', {});
  await gateway.term();
  rmSync(data, { recursive: true });
  cpSync(`${data}-copy`, data, { recursive: true });
  await gateway.start();
  // The call is repeated, because it is refused while the scheduled first backup of the new store is being written.
  await until('a backup is written', async () => (await gateway.call('POST', '/system/backup', {})).status === 200);
  const { job_id: own } = await gateway.finished('echo/handle', {});
  const time = await momentOf();
  await gateway.finished('echo/handle', {});
  await gateway.term();
  const again = await restored(gateway, time);
  expect([await isKnown(again, own), await isKnown(again, other)]).toEqual([true, false]);
});

test('a copy from while the service ran gets an id of its own, too, although it ends in the same segment', async () => {
  const gateway = await started(settings);
  const before = storeOf(gateway);
  const data = join(gateway.directory, 'data');
  const run = join(data, 'run');
  cpSync(data, `${data}-copy`, { recursive: true, filter: path => path !== run });
  await gateway.finished('echo/handle', {});
  expect((await gateway.call('POST', '/system/backup', {})).status).toBe(200);
  await gateway.term();
  rmSync(data, { recursive: true });
  cpSync(`${data}-copy`, data, { recursive: true });
  await gateway.start();
  expect(storeOf(gateway)).not.toBe(before);
});

test('a backup whose last turn an earlier version committed is restored as it is, and not as of a time', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  const { job_id: id } = await gateway.finished('echo/handle', {});
  await gateway.term();
  const lmdb = openLmdb(join(gateway.directory, 'data'), tables, 'synced');
  const record = Buffer.from(lmdb.databases.meta.get(appliedKey)!);
  await lmdb.databases.meta.put(appliedKey, record.subarray(0, 8));
  await lmdb.env.close();
  const backup = join(into(gateway), 'headgate-2026-01-01T00-00-00Z');
  mkdirSync(into(gateway));
  expect((await headgate(['backup', backup, '--config', gateway.directory])).status).toBe(0);
  expect(JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'))).toMatchObject({ turn: null });
  for (const path of [into(gateway), backup]) {
    const to = join(gateway.directory, 'restored');
    const { status, stderr } = await headgate(['restore', path, '--until', '0s', '--into', to]);
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('says when its last turn was committed, because an earlier version committed it'),
    ]);
  }
  const other = new Gateway({ plugins: { echo } });
  onTestFinished(() => other.discard());
  expect((await headgate(['restore', backup, '--into', join(other.directory, 'data')])).status).toBe(0);
  await other.start();
  expect(await isKnown(other, id)).toBe(true);
  await gateway.start();
  expect(await isKnown(gateway, id)).toBe(true);
});

test('while the directory of the backups cannot be used, the service works, and the log is copied once it can', async () => {
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  writeFileSync(into(gateway), '');
  await gateway.start();
  await gateway.finished('echo/handle', {});
  await until('the failure is logged', () => gateway.log.some(({ msg }) => msg === 'a backup was not written'));
  const { checks } = (await gateway.call('GET', '/system/doctor')).body;
  expect(checks).toContainEqual({ name: 'backups', passed: false, detail: expect.stringContaining('not written') });
  await gateway.term();
  expect(gateway.log).toContainEqual(expect.objectContaining({ msg: 'the commit log cannot be archived' }));
  rmSync(into(gateway));
  await gateway.start();
  await until('a backup', () => backupsIn(gateway).length > 0);
  const { job_id: id } = await gateway.finished('echo/handle', {});
  const time = await momentOf();
  await gateway.finished('echo/handle', {});
  await gateway.term();
  expect(await isKnown(await restored(gateway, time), id)).toBe(true);
  const archive = join(into(gateway), readdirSync(into(gateway)).find(name => name.startsWith('log-'))!);
  // The archive also has the segment that the first start wrote.
  expect(readdirSync(archive).sort()[0]).toBe('000000000001.log');
});

test('the doctor passes again once a backup that was requested follows a scheduled one that failed', async () => {
  const gateway = new Gateway({ plugins: { echo }, backups: { every: '1h' } });
  onTestFinished(() => gateway.discard());
  const check = async () => {
    const { checks } = (await gateway.call('GET', '/system/doctor')).body;
    return (checks as { name: string; passed: boolean; detail: string }[]).find(({ name }) => name === 'backups')!;
  };
  // A file in the place of the directory for backups.
  writeFileSync(into(gateway), '');
  await gateway.start();
  await until('the doctor knows the failure', async () => (await check()).detail.includes('not written'));
  rmSync(into(gateway));
  expect((await gateway.call('POST', '/system/backup')).status).toBe(200);
  await until('the doctor passes', async () => (await check()).passed, 30_000);
});
