// Backups that a running service writes, on schedule and by a call; and what the commands say of a state.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { identify } from '../../../runtime/processes/identity.ts';
import { formatVersion } from '../../../runtime/store/format.ts';
import { legacyOwnerKey } from '../../../runtime/store/ledger-recovery.ts';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import { openLmdb } from '../../../runtime/store/lmdb.ts';
import { tables } from '../../../runtime/store/store.ts';
import { readManifest } from '../../../service/backup/manifest.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import { placeFixture, readFixture } from '../formats/fixture.ts';
import { everythingToken } from '../gateway/configuration.ts';
import { Gateway, shareGateway, startGateway } from '../gateway/gateway.ts';
import { echo, failing } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';
import { begunBackup } from './begun-backup.ts';
import { writeManifest } from './write-manifest.ts';

const gateway = shareGateway({ plugins: { echo } });
const into = () => join(gateway.directory, 'backups');

/** The doctor's check of the backups. */
async function checkOf(of: Gateway) {
  const { checks } = (await of.call('GET', '/system/doctor')).body;
  return (checks as { name: string; passed: boolean; detail: string }[]).find(({ name }) => name === 'backups')!;
}

test('POST /system/backup writes below backups.into, and answers once it is whole', async () => {
  const { job_id } = await gateway.finished('echo/handle', { big: 'x'.repeat(1000), text: 'clear \u009b2J' });
  const { status, body } = await gateway.call('POST', '/system/backup', { path: 'before' });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    path: join(into(), 'before'),
    state_format: formatVersion,
    counts: { jobs: 1, unsettled: 0 },
  });
  expect((await headgate(['backup', 'verify', join(into(), 'before')])).status).toBe(0);
  const again = await gateway.call('POST', '/system/backup', { path: 'before' });
  expect(again).toMatchObject({ status: 409, body: { code: 'backup_refused' } });
  const named = await gateway.call('POST', '/system/backup');
  expect(named.body['path']).toMatch(/\/backups\/headgate-[0-9TZ-]+$/);
  expect(gateway.log.map(({ msg }) => msg)).toContain(
    'a backup begins; until it ends, the ledger reuses no page that was in use',
  );
  expect((await gateway.job(job_id)).status).toBe('succeeded');
});

test('a path cannot leave its directory', async () => {
  for (const path of ['../out', '/tmp/out', 'a/../../out', '.hidden', 'a//b', 'a\0b', '']) {
    const { status, body } = await gateway.call('POST', '/system/backup', { path });
    expect({ path, status, code: body['code'] }).toEqual({ path, status: 400, code: 'invalid_request' });
  }
  const elsewhere = mkdtempSync(join(gateway.directory, 'elsewhere-'));
  mkdirSync(into(), { recursive: true });
  symlinkSync(elsewhere, join(into(), 'link'));
  for (const path of ['link/out', 'none/out']) {
    const { status, body } = await gateway.call('POST', '/system/backup', { path });
    expect({ path, status, code: body['code'] }).toEqual({ path, status: 409, code: 'backup_refused' });
  }
  expect(readdirSync(elsewhere)).toEqual([]);
});

test('one backup is written at a time', async () => {
  const [first, second] = await Promise.all([
    gateway.call('POST', '/system/backup', { path: 'one' }),
    gateway.call('POST', '/system/backup', { path: 'two' }),
  ]);
  expect([first.status, second.status].sort()).toEqual([200, 409]);
  expect([first, second].find(({ status }) => status === 409)!.body['code']).toBe('backup_running');
});

test('the process that writes a backup dies with its service, in the midst of the copy too', async () => {
  const home = mkdtempSync(join(gateway.directory, 'dies-'));
  const child = await begunBackup(home);
  const ended = once(child, 'exit');
  child.stdin.end();
  expect(await ended).toEqual([null, 'SIGKILL']);
});

test('scheduled backups are written, and old ones are removed only after a newer one; a reload applies', async () => {
  const settings = { plugins: { echo } };
  const other = await startGateway(settings);
  const place = join(other.directory, 'backups');
  expect(existsSync(place)).toBe(false);
  const kept = await other.call('POST', '/system/backup', { path: 'mine' });
  expect(kept.status).toBe(200);
  await other.reload({ ...settings, backups: { every: '1s', keep: 2 } });
  const named = () => readdirSync(place).filter(name => name.startsWith('headgate-') && !name.endsWith('.partial'));
  const first = await until('a backup', () => named()[0]);
  await until('the first one is replaced', () => !named().includes(first));
  expect(named().length).toBeGreaterThanOrEqual(2);
  expect(readdirSync(place)).toContain('mine');
  // On a busy machine a backup takes longer than `every`, so between two of them the newest may be overdue.
  const passed = await until('a backup is in time', async () => {
    const checks = (await other.call('GET', '/system/doctor')).body['checks'] as { name: string; passed: boolean }[];
    return checks.find(check => check.name === 'backups' && check.passed);
  });
  expect(passed).toMatchObject({ detail: expect.stringContaining('newest') });
  const metrics = String((await other.call('GET', '/metrics')).body['text']);
  expect(metrics).toMatch(/headgate_backups_total\{outcome="written"\} [1-9]/);
  expect(metrics).toMatch(/headgate_backup_timestamp_seconds 1[0-9]{9}/);

  // The directory for backups cannot be created: the log and the doctor say so, and existing backups stay.
  const before = named();
  await other.reload({ ...settings, backups: { every: '1s', keep: 1, into: './config.yaml/below' } });
  await until('the failure is logged', () => other.log.some(({ msg }) => msg === 'a backup was not written'));
  const failed = (await other.call('GET', '/system/doctor')).body['checks'];
  expect(failed).toContainEqual({ name: 'backups', passed: false, detail: expect.stringContaining('not written') });
  expect(named().length).toBeGreaterThanOrEqual(Math.min(2, before.length));
});

test('a new backup is written soon after the newest one was deleted', async () => {
  const other = await startGateway({ plugins: { echo }, backups: { every: '1h' } });
  const backups = join(other.directory, 'backups');
  const written = () => other.log.filter(({ msg }) => msg === 'a backup was written').length;
  await until('the doctor knows the first backup', async () =>
    (await checkOf(other)).detail.startsWith('the newest in'),
  );
  rmSync(backups, { recursive: true });
  await until('another backup', () => written() === 2, 30_000);
});

test('a restored state writes no backup until it is resumed, and never removes those of the original store', async () => {
  const other = await startGateway({ plugins: { echo }, backups: { every: '1h', keep: 1, log: true } });
  const backups = join(other.directory, 'backups');
  const names = () => (existsSync(backups) ? readdirSync(backups).filter(name => name.endsWith('Z')) : []);
  await until('the first backup', () => names().length === 1);
  const [first] = names();
  await other.finished('echo/handle', {});
  await other.term();
  const logs = readdirSync(backups).filter(name => name.startsWith('log-'));
  expect(logs.length).toBe(1);
  const data = join(other.directory, 'data');
  renameSync(data, `${data}-lost`);
  expect((await headgate(['restore', join(backups, first!), '--into', data])).status).toBe(0);
  await other.start();
  const dueMs = Date.now() + 2_000;
  expect(await checkOf(other)).toMatchObject({
    passed: true,
    detail: expect.stringContaining('none is written until the restored state is resumed; none in'),
  });
  await until('a backup would have begun', () => Date.now() > dueMs);
  expect((await other.call('POST', '/control/system/resume', {})).status).toBe(200);
  // The service counts the backup only once the process that wrote it has ended.
  const newestAt = await until('a backup of the resumed state', async () => {
    return /^the newest in .* is from (\S+)$/.exec((await checkOf(other)).detail)?.[1];
  });
  expect(Date.parse(newestAt)).toBeGreaterThan(dueMs);
  expect(names().length).toBe(2);
  expect(names()).toContain(first);
  expect(readdirSync(join(backups, logs[0]!)).length).toBeGreaterThan(0);
});

test('a state that is restored in the place of a lost ledger does not have what the index of that ledger had', async () => {
  const other = await startGateway({ plugins: { failing } });
  const { body: backup } = await other.call('POST', '/system/backup', { path: 'before' });
  await other.finished('failing/handle', { retry: false });
  const failures = async () => (await other.call('GET', '/failures')).body;
  await until('the failure is indexed', async () => (await failures())['total'] === 1);
  await other.term();
  const data = join(other.directory, 'data');
  rmSync(join(data, 'data.mdb'));
  expect((await headgate(['restore', String(backup['path']), '--into', data])).status).toBe(0);
  await other.start();
  expect(await failures()).toEqual({ failures: [], total: 0 });
});

test('a backup from a time when the clock was ahead is not the newest one, and the next backup replaces it', async () => {
  const other = new Gateway({ plugins: { echo }, backups: { every: '1h', keep: 1 } });
  onTestFinished(() => other.discard());
  const place = join(other.directory, 'backups');
  writeManifest(join(place, 'headgate-2999-01-01T00-00-00Z'), { created_at: '2999-01-01T00:00:00.000Z' });
  await other.start();
  await until('a backup is written', () => other.log.some(({ msg }) => msg === 'a backup was written'));
  const { checks } = (await other.call('GET', '/system/doctor')).body as { checks: { name: string; detail: string }[] };
  const [, newestAt] =
    /the newest in .* is from (\S+)$/.exec(checks.find(({ name }) => name === 'backups')!.detail) ?? [];
  expect(Date.parse(newestAt!)).toBeLessThanOrEqual(Date.now());
  expect(readdirSync(place)).toEqual([`headgate-${newestAt!.slice(0, 19).replaceAll(':', '-')}Z`]);
});

test('state info, upgrade and export read a state beside its service', async () => {
  const at = ['--config', gateway.directory];
  const { json } = await headgate(['state', 'info', ...at, '--json']);
  expect(json).toMatchObject({ format: formatVersion, writes: formatVersion, unsettled: { jobs: 0 } });
  const lines = (await headgate(['state', 'export', ...at])).stdout.trim().split('\n');
  const documents = lines.map(line => JSON.parse(line));
  const job = documents.find(({ kind }) => kind === 'job');
  // A terminal must not obey what a payload contains.
  expect(lines.filter(line => line.includes('\u009b'))).toEqual([]);
  expect(job).toMatchObject({ status: 'succeeded', plugin: 'echo', payload: { text: 'clear \u009b2J' } });
  expect(documents.find(({ kind }) => kind === 'log')).toMatchObject({ job_id: job.job_id, status: 'succeeded' });
  const dry = await headgate(['state', 'upgrade', '--dry-run', ...at, '--json']);
  expect(dry).toMatchObject({ status: 0, json: { needed: false, from: formatVersion, to: formatVersion } });
  const none = mkdtempSync(join(gateway.directory, 'none-'));
  writeFileSync(join(none, 'config.yaml'), 'state: { path: ./data }\n');
  expect(await headgate(['state', 'info', '--config', none])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('there is no state'),
  });
});

test('of the configuration, a backup and state info need only state.path', async () => {
  const directory = mkdtempSync(join(gateway.directory, 'other-'));
  const variable = '$' + '{ONLY_THE_SERVICE}';
  const run = (path: string, ...words: string[]) => {
    const settings = `state: { path: '${path}' }\nvault: { key_file: '${variable}/key' }\nplugin: {}\n`;
    writeFileSync(join(directory, 'config.yaml'), settings);
    return headgate([...words, '--config', directory]);
  };
  const data = join(gateway.directory, 'data');
  const [info, backup] = [
    ['state', 'info'],
    ['backup', join(directory, 'written')],
  ];
  for (const words of [info, backup]) expect(await run(data, ...words)).toMatchObject({ status: 0, stderr: '' });
  const refused = { status: 78, stderr: expect.stringContaining('ONLY_THE_SERVICE') };
  for (const option of ['--with-vault-key', '--with-index'])
    expect(await run(data, ...backup, option)).toMatchObject(refused);
  for (const words of [info, backup]) expect(await run(`${variable}/data`, ...words)).toMatchObject(refused);
});

test('state export holds no pages between two pieces: a job accepted after the first piece is exported too', async () => {
  const other = await startGateway({ plugins: { echo } });
  for (let i = 0; i < 3; i++) await other.finished('echo/handle', { filler: 'x'.repeat(100_000) });
  const headers = { authorization: `Bearer ${everythingToken}`, 'content-type': 'application/json' };
  const call = JSON.stringify({ method: 'POST', headers, body: '{"payload":{"late":true}}' });
  const submit = `if (!(await fetch('${other.url}/plugin/echo/handle', ${call})).ok) process.exit(1)`;
  let isSubmitted = false;
  const { stdout } = await headgate(['state', 'export', '--config', other.directory], {
    onOutput() {
      // Blocks the export until the job is submitted, as writing to a file would.
      if (!isSubmitted) execFileSync(process.execPath, ['--input-type=module', '-e', submit]);
      isSubmitted = true;
    },
  });
  expect(stdout.match(/"payload":\{"late":true\}/g)?.length).toBe(1);
});

test('state export into a pipe leaves stderr empty, and ends when nobody reads it any more', async () => {
  const other = await startGateway({ plugins: { echo } });
  const ids = Array.from({ length: 16 }, () => other.submit('echo/handle', { filler: 'x'.repeat(100_000) }));
  await other.allSettled(await Promise.all(ids));
  await other.term();
  const exportInto = (reader: string) =>
    spawnSync(
      'sh',
      ['-c', `"$0" dist/cli/main.js state export --config "$1" | ${reader}`, process.execPath, other.directory],
      {
        encoding: 'utf8',
      },
    );
  const whole = exportInto('wc -c');
  expect([Number(whole.stdout) > 2 * 2 ** 20, whole.stderr]).toEqual([true, '']);
  // An export that goes on to its end names the block that cannot be read.
  const store = openStore(join(other.directory, 'data'));
  const batch = store.batch();
  const [first] = Array.from(store.keys('blocks', { limit: 1 }), key => Buffer.from(key));
  batch.put('blocks', first!, Buffer.of(0x93));
  store.commit(batch);
  store.close();
  expect(exportInto('wc -c').stderr).toContain('cannot be read');
  expect(exportInto('head -c 1')).toMatchObject({ stdout: '{', stderr: '' });
});

test('state export leaves out what cannot be read, and names it', async () => {
  const other = await startGateway({ plugins: { echo } });
  await other.finished('echo/handle', { n: 1 });
  const { job_id: second } = await other.finished('echo/handle', { n: 2 });
  await other.term();
  const store = openStore(join(other.directory, 'data'));
  const [first] = Array.from(store.keys('blocks', { limit: 1 }), key => Buffer.from(key));
  const batch = store.batch();
  batch.put('blocks', first!, Buffer.of(0x93));
  store.commit(batch);
  store.close();
  const { status, stdout, stderr } = await headgate(['state', 'export', '--config', other.directory]);
  const documents = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(documents).toMatchObject([
    { kind: 'job', job_id: second },
    { kind: 'log', job_id: second },
  ]);
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining(`1 blocks of jobs or jobs, ${first!.toString('hex')}\n`),
  ]);
});

test('commands on a stopped state leave an older format; the upgrade backs it up first', async () => {
  const name = '10-counted';
  const fixture = readFixture(name);
  const other = new Gateway(fixture.settings);
  onTestFinished(() => other.discard());
  placeFixture(other, name, fixture);
  const ask = async (...words: string[]) => headgate([...words, '--config', other.directory, '--json']);
  const copy = await ask('backup', join(other.directory, 'with-index'), '--with-index');
  expect(copy).toMatchObject({ status: 0, json: { state_format: 10 } });
  expect((await ask('vault', 'init')).status).toBe(1);
  expect((await ask('vault', 'rotate-key')).status).toBe(0);
  expect(await ask('state', 'upgrade', '--dry-run')).toMatchObject({ json: { needed: true, from: 10 } });
  const { json } = await ask('state', 'upgrade');
  expect(readManifest(json.backup).state_format).toBe(10);
  expect(await ask('state', 'info')).toMatchObject({ json: { format: formatVersion } });
});

test('while a process of an older version holds the state, a start and an upgrade are refused, and write no backup', async () => {
  const name = '10-counted';
  const fixture = readFixture(name);
  const other = new Gateway(fixture.settings);
  onTestFinished(() => other.discard());
  placeFixture(other, name, fixture);
  const holder = spawn('cat');
  onTestFinished(() => void holder.kill());
  await once(holder, 'spawn');
  const lmdb = openLmdb(join(other.directory, 'data'), tables, 'synced');
  await lmdb.databases.meta.put(legacyOwnerKey, Buffer.from(JSON.stringify(identify(holder.pid!))));
  await lmdb.env.close();
  for (let attempt = 0; attempt < 2; attempt++) {
    await other.start().catch(() => {});
    expect((await other.ended).status).toBe(75);
    expect(other.log.at(-1)?.msg).toMatch(/is in use by process \d+: stop it/);
  }
  const upgrade = await headgate(['state', 'upgrade', '--config', other.directory]);
  expect(upgrade).toMatchObject({ status: 75, stderr: expect.stringContaining(`in use by process ${holder.pid}`) });
  expect(existsSync(join(other.directory, 'backups'))).toBe(false);
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) process.stderr.write('SKIPPED: what root leaves to the user of a state needs root\n');

test.runIf(isRoot)('root writes nothing to the state of another user', async () => {
  const nobody = 65_534;
  const other = await startGateway({ plugins: { echo } });
  const data = join(other.directory, 'data');
  // Readers beside the service find their lock file, and need not create it.
  expect(readdirSync(data)).toContain('readers.lock');
  await other.finished('echo/handle', { n: 1 });
  const backup = join(other.directory, 'backup');
  expect((await headgate(['backup', backup, '--config', other.directory])).status).toBe(0);
  await other.kill9();
  const give = () => execFileSync('chown', ['-R', `${nobody}`, data]);
  const isRefused = async (...words: string[]) => {
    const { status, stderr } = await headgate(words);
    expect([words, status, stderr]).toEqual([
      words,
      74,
      `headgate: ${data} belongs to user ${nobody}, who could not read what root writes there: run this command as that user\n`,
    ]);
    const users = readdirSync(data, { recursive: true }).map(name => lstatSync(join(data, String(name))).uid);
    expect(new Set([...users, nobody])).toEqual(new Set([nobody]));
  };
  give();
  const at = ['--config', other.directory];
  const into = join(other.directory, 'copy');
  await isRefused('state', 'info', ...at);
  await isRefused('backup', into, ...at);
  await isRefused('backup', into, '--with-index', ...at);
  await isRefused('vault', 'rotate-key', ...at);

  rmSync(data, { recursive: true });
  mkdirSync(data);
  give();
  await isRefused('restore', backup, '--into', data);
  rmSync(data, { recursive: true });
  expect((await headgate(['restore', backup, '--into', data])).status).toBe(0);
  give();
  // A restored state lacks the files with which its readers lock it.
  await isRefused('state', 'info', ...at);
});
