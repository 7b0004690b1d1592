// Backups beside a running service, what a restored state does, and what is refused.
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { formatVersion } from '../../../runtime/store/format.ts';
import { type LedgerStore, openReaderBeside, openStore } from '../../../runtime/store/ledger-store.ts';
import { restoreBackup } from '../../../service/backup/restore.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import { canary } from '../canary/canary.ts';
import type { Settings } from '../gateway/configuration.ts';
import { Gateway, shareGateway } from '../gateway/gateway.ts';
import { send } from '../gateway/send.ts';
import { worker } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';

const key = canary('webhook key');
const gated = (gate: string) => [{ uses: 'worker', with: { gate } }];
const settings: Settings = {
  plugins: { worker },
  pipelines: [
    { name: 'pair', on: 'pair', steps: [{ uses: 'worker', foreach: 'payload.list' }] },
    { name: 'cleaned', steps: gated('work'), finally: gated('clean') },
  ],
  schedules: [{ id: 'often', plugin: 'worker', every: '1s', if_running: 'allow', payload: { name: 'often' } }],
  tokens: [{ name: 'hook', key }],
  webhooks: {
    endpoints: [
      { name: 'news', path: '/webhook/news', plugin: 'worker', secret_ref: 'hook', signature_header: 'X-Signature' },
    ],
  },
};
const root = fileURLToPath(new URL('../../..', import.meta.url));
const gateway = shareGateway(settings);

const out = mkdtempSync(join(tmpdir(), 'headgate-backups-'));
/** Ids of jobs that the backup must contain: those that have ended, and those that wait. */
const ended: string[] = [];
const waiting: string[] = [];
const backup = join(out, 'first');

beforeAll(async () => {
  ended.push((await gateway.finished('worker/handle', { name: 'ended' })).job_id);
  await until('the schedule has fired', async () => {
    const [schedule] = (await gateway.call('GET', '/schedules')).body['schedules'] as { history: unknown[] }[];
    return schedule!.history.length > 0;
  });
  await gateway.call('POST', '/control/plugin/worker/pause', {});
  // Calls go on while the backup is written; those that were acknowledged before it began must be in it.
  let isOver = false;
  let isBegun = false;
  const load = (async () => {
    for (let i = 0; !isOver; i++) {
      const id = await gateway.submit('worker/handle', { name: `n${i}` });
      if (!isBegun) waiting.push(id);
    }
  })();
  await until('a load', () => waiting.length >= 50);
  waiting.push(await gateway.run('pair', { list: [{ name: 'a' }, { name: 'b' }] }));
  isBegun = true;
  const { status, stderr } = await headgate(['backup', backup, '--config', gateway.directory]);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  isOver = true;
  await load;
  return () => rmSync(out, { recursive: true, force: true });
});

/** A gateway on a state that was restored from this backup. */
async function restored(from: string, ...options: string[]): Promise<Gateway> {
  const other = new Gateway(settings);
  onTestFinished(() => other.discard());
  const { status, stderr } = await headgate(['restore', from, '--into', join(other.directory, 'data'), ...options]);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  await other.start();
  return other;
}

async function deliver(to: Gateway) {
  const body = '{"name":"news"}';
  const signature = `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
  const headers = { 'X-Signature': signature, 'Content-Type': 'application/json' };
  return send(`${to.webhooks}/webhook/news`, { method: 'POST', headers, body });
}

test('a backup has a manifest, and files for its owner only', async () => {
  const manifest = JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'));
  expect(manifest).toMatchObject({ headgate_backup: 1, state_format: formatVersion, store_id: expect.any(String) });
  expect(manifest.counts.unsettled).toBeGreaterThanOrEqual(50);
  expect(manifest.files.map(({ name }: { name: string }) => name)).toEqual(['data.mdb']);
  expect(readdirSync(backup).sort()).toEqual(['data.mdb', 'manifest.json']);
  for (const name of readdirSync(backup)) expect(statSync(join(backup, name)).mode & 0o777).toBe(0o600);
  expect(statSync(backup).mode & 0o777).toBe(0o700);
});

test('verify says what it would run and how old that is, and leaves the backup as it is', async () => {
  const before = readdirSync(backup);
  const { status, json } = await headgate(['backup', 'verify', backup, '--json']);
  expect(status).toBe(0);
  expect(json).toMatchObject({
    whole: true,
    problems: [],
    would_run: { runs: 1, oldest_at: expect.any(String), commands: [{ plugin: 'worker', command: 'handle' }] },
  });
  expect(json.would_run.jobs).toBe(json.manifest.counts.unsettled);
  expect(readdirSync(backup)).toEqual(before);
  const { stdout } = await headgate(['backup', 'verify', backup]);
  expect(stdout).toMatch(/would run \d+ jobs, and continues 1 run of pipelines; the oldest was accepted .* ago/);
});

test('a restored state is paused until it is resumed, and then runs what was acknowledged before the backup', async () => {
  const other = await restored(backup);
  const paused = async () => (await other.call('GET', '/pauses')).body['pauses'] as readonly { target: object }[];
  const system = (await paused()).find(({ target }) => JSON.stringify(target) === '{"kind":"system"}');
  expect(system).toMatchObject({ by: 'restore', reason: 'restored from first', would_run: { runs: 1 } });
  const { stdout } = await headgate(['status', '--config', other.directory, '--url', other.url], {
    env: { HEADGATE_TOKEN: (await import('../gateway/configuration.ts')).everythingToken },
  });
  expect(stdout).toMatch(/the service by restore since .*: restored from first\n/);
  expect(stdout).toMatch(/until it is resumed, no schedule fires, .*; then it runs \d+ jobs/);
  expect(other.log.find(({ msg }) => msg === 'ready')!['store']).not.toBe(
    gateway.log.find(({ msg }) => msg === 'ready')!['store'],
  );

  const refused = await deliver(other);
  expect(refused.status).toBe(503);
  expect(JSON.parse(refused.text)).toMatchObject({ code: 'paused' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  // A new pause of the service, which replaces the one of the restore, lasts over a restart too.
  await other.call('POST', '/control/system/pause', { reason: 'not yet' });
  expect((await deliver(other)).status).toBe(503);
  await other.restart();
  expect((await deliver(other)).status).toBe(503);

  await other.call('POST', '/control/plugin/worker/resume', {});
  const schedule = async () => ((await other.call('GET', '/schedules')).body['schedules'] as never[])[0]!;
  const { history, next_run_at: nextRun } = (await schedule()) as {
    readonly history: readonly { job_id?: string }[];
    readonly next_run_at: string;
  };
  await until('the next occurrence has passed', () => Date.parse(nextRun) < Date.now());
  expect((await schedule())['history']).toEqual(history);
  expect(other.journal()).toEqual([]);

  for (const id of waiting) expect((await other.job(id)).status).toMatch(/queued|running/);
  expect((await other.job(ended[0]!)).status).toBe('succeeded');
  await other.call('POST', '/control/system/resume', {});
  // The occurrences that were missed during the pause fire as one (`catch_up: run_once`). Twenty later ones would hide it.
  const known = new Set(history.map(({ job_id: id }) => id));
  await until('the schedule fires for what was missed', async () => {
    const firings = (await schedule())['history'] as readonly { job_id?: string; missed?: number }[];
    return firings.some(({ job_id: id, missed = 0 }) => missed > 0 && !known.has(id));
  });
  for (const { status } of await other.allSettled(waiting)) expect(status).toBe('succeeded');
  expect(other.notesOf(ended[0]!)).toEqual([]);
  expect((await deliver(other)).status).toBe(202);
  expect((await other.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok' });
});

test('a restored state holds the phases of cancelled runs until it is resumed', async () => {
  const original = new Gateway(settings);
  onTestFinished(() => original.discard());
  await original.start();
  const lastJob = async (run: string, of: Gateway) => (await of.tree(run)).at(-1)!.job_id;
  const runs = [await original.run('cleaned'), await original.run('cleaned')] as const;
  for (const run of runs) await original.noted('start', await lastJob(run, original));
  // One run is cancelled before the backup, and the other one in the restored state.
  await original.call('POST', `/job/${runs[0]}/cancel`);
  const clean = await until('finally has begun', async () => (await original.tree(runs[0]))[2]?.job_id);
  await original.noted('start', clean);
  const path = join(out, 'cancelled');
  expect((await headgate(['backup', path, '--config', original.directory])).status).toBe(0);

  const copy = await restored(path);
  await copy.call('POST', `/job/${runs[1]}/cancel`);
  for (const id of [...runs, clean]) await copy.waiting(id, 'paused');
  expect([(await copy.tree(runs[1])).length, copy.journal()]).toEqual([2, []]);
  copy.open('clean');
  await copy.call('POST', '/control/system/resume', {});
  for (const { status } of await copy.allSettled(runs)) expect(status).toBe('cancelled');
  const ran = [{ what: 'start' }, { what: 'end' }];
  for (const run of runs) expect(copy.notesOf(await lastJob(run, copy))).toMatchObject(ran);
});

test('--resume starts it at once; a state that exists is refused', async () => {
  const other = await restored(backup, '--resume');
  await other.call('POST', '/control/plugin/worker/resume', {});
  expect((await other.settled(waiting[0]!)).status).toBe('succeeded');
  const again = await headgate(['restore', backup, '--into', join(other.directory, 'data'), '--json']);
  expect(again.status).toBe(1);
  expect(again.json).toMatchObject({ code: 'backup_refused', detail: expect.stringContaining('has a state already') });
});

test('a backup in a directory is named by the time; nothing is ever overwritten', async () => {
  const many = mkdirSync(join(out, 'many'), { recursive: true })!;
  const made = await headgate(['backup', many, '--config', gateway.directory, '--json']);
  expect(made.json.path).toMatch(/many\/headgate-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/);
  const file = join(out, 'file');
  writeFileSync(file, 'mine');
  const logOf = (into: string) => join(into, 'log-0198c0de-0000-4000-8000-000000000000');
  mkdirSync(join(logOf(out), 'below'), { recursive: true });
  mkdirSync(join(backup, 'search'));
  onTestFinished(() => rmSync(join(backup, 'search'), { recursive: true }));
  symlinkSync(backup, join(out, 'link'));
  for (const [path, why] of [
    [file, 'exists already'],
    [backup, 'is a backup already'],
    [join(backup, 'inside'), 'is a backup already'],
    [join(backup, 'search/x'), 'is a backup already'],
    [join(out, 'link/x'), 'is a backup already'],
    [join(out, 'none/below'), 'does not exist'],
    [`${backup}.partial`, 'must not end with .partial'],
    [logOf(many), 'is for the copies of a commit log'],
    [join(logOf(out), '000000000001.log'), 'is for the copies of a commit log'],
    [join(logOf(out), 'below/x'), 'is for the copies of a commit log'],
  ] as const) {
    const { status, json } = await headgate(['backup', path, '--config', gateway.directory, '--json']);
    expect({ status, detail: json.detail }).toEqual({ status: 1, detail: expect.stringContaining(why) });
  }
  expect(readFileSync(file, 'utf8')).toBe('mine');
  // A manifest.json without a copy of the ledger beside it is of another program.
  writeFileSync(join(many, 'manifest.json'), '{"name":"app"}');
  expect((await headgate(['backup', join(many, 'new'), '--config', gateway.directory])).status).toBe(0);
});

test('the unlock key of a vault is in it only on demand', async () => {
  const plain = await headgate(['backup', join(out, 'keyless'), '--config', gateway.directory, '--with-vault-key']);
  expect(plain).toMatchObject({ status: 1, stderr: expect.stringContaining('there is no key file') });
  writeFileSync(join(gateway.directory, 'data/vault.key'), 'not a key', { mode: 0o600 });
  onTestFinished(() => rmSync(join(gateway.directory, 'data/vault.key')));
  const without = await headgate(['backup', join(out, 'without'), '--config', gateway.directory]);
  expect(without.status).toBe(0);
  expect(existsSync(join(out, 'without/vault.key'))).toBe(false);
  const made = await headgate(['backup', join(out, 'with'), '--config', gateway.directory, '--with-vault-key']);
  expect(made.stderr).toContain('can read all secrets');
  expect(statSync(join(out, 'with/vault.key')).mode & 0o777).toBe(0o600);
});

test.each<readonly [string, (directory: string) => void, string]>([
  ['a byte was changed', at => flip(join(at, 'data.mdb')), 'data.mdb was changed or damaged'],
  ['the ledger is cut off', at => truncateSync(join(at, 'data.mdb'), 16_384), 'data.mdb has 16384 bytes, not'],
  ['the ledger is missing', at => rmSync(join(at, 'data.mdb')), 'data.mdb is missing'],
  ['the manifest is missing', at => rmSync(join(at, 'manifest.json')), 'it has no manifest.json'],
  ['the manifest is cut off', at => truncateSync(join(at, 'manifest.json'), 40), 'it is not JSON'],
  [
    'the manifest names a file elsewhere',
    at => edit(at, text => text.replace('"data.mdb"', '"../../data.mdb"')),
    'its list of files cannot be used',
  ],
  [
    'the manifest names a log elsewhere',
    at => edit(at, text => text.replace(/"store_id": "[^"]*"/, '"store_id": "../elsewhere"')),
    'its "store_id" is not an id',
  ],
  [
    'the manifest has no time of its turn',
    at => edit(at, text => text.replace(/"at": "[^"]*"/, '"at": null')),
    'its turn cannot be used',
  ],
  [
    'its format is newer',
    at => edit(at, text => text.replace(`"state_format": ${formatVersion}`, '"state_format": 99')),
    'format 99',
  ],
])('where %s, verify says so and restore refuses', async (_, damage, why) => {
  const damaged = join(mkdtempSync(join(out, 'damaged-')), 'copy');
  cpSync(backup, damaged, { recursive: true });
  damage(damaged);
  const verified = await headgate(['backup', 'verify', damaged]);
  expect(verified.status).toBe(1);
  expect(verified.stdout + verified.stderr).toContain(why);
  const into = join(damaged, '../state');
  const refused = await headgate(['restore', damaged, '--into', into]);
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain(why);
  expect(existsSync(join(into, 'data.mdb'))).toBe(false);
});

function flip(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.from([0xff]), 0, 1, 9_000);
  writeSync(file, Buffer.from([0x77]), 0, 1, 9_001);
}

function edit(directory: string, change: (text: string) => string): void {
  const path = join(directory, 'manifest.json');
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

/** Kills the command as soon as `directory` has a partial directory with a note. Returns false if the command had ended before. */
async function killedAtNote(directory: string, words: readonly string[]): Promise<boolean> {
  const child = spawn(process.execPath, ['dist/cli/main.js', ...words], { cwd: root, stdio: 'ignore' });
  const ending = new Promise<NodeJS.Signals | null>(resolve => child.once('close', (_, signal) => resolve(signal)));
  const hasNote = () => readdirSync(directory).some(name => existsSync(join(directory, name, 'writer.json')));
  const isThere = until('a note exists', () => hasNote() || child.exitCode !== null);
  await Promise.race([isThere, ending]);
  child.kill('SIGKILL');
  return (await ending) === 'SIGKILL';
}

test('a backup that is killed leaves nothing that looks whole, and the next one removes what it left', async () => {
  const place = join(out, 'killed');
  mkdirSync(place);
  const to = join(place, 'one');
  await until('a backup is killed before it is whole', async () => {
    rmSync(to, { recursive: true, force: true });
    return (await killedAtNote(place, ['backup', to, '--config', gateway.directory])) && !existsSync(to);
  });
  expect(await headgate(['backup', 'verify', `${to}.partial`])).toMatchObject({ status: 1 });
  expect((await headgate(['backup', to, '--config', gateway.directory])).status).toBe(0);
  expect(readdirSync(place)).toEqual(['one']);
  expect((await headgate(['backup', 'verify', to])).status).toBe(0);
});

test('a restore that is killed leaves no state, and can be repeated', async () => {
  const into = await until('a restore is killed before its state is whole', async () => {
    const directory = mkdtempSync(join(out, 'state-'));
    const isKilled = await killedAtNote(directory, ['restore', backup, '--into', directory]);
    return isKilled && !existsSync(join(directory, 'data.mdb')) && directory;
  });
  expect((await headgate(['restore', backup, '--into', into])).status).toBe(0);
  expect(readdirSync(into)).toEqual(['data.mdb', 'gate.lock']);
});

test('a restore is refused if a service makes a state there meanwhile, and that state stays', async () => {
  const into = mkdtempSync(join(out, 'state-'));
  const record = Buffer.from('acknowledged');
  let started: LedgerStore | undefined;
  const restoring = restoreBackup({
    backup,
    into,
    resumes: false,
    onBytes() {
      if (started) return;
      started = openStore(into);
      const batch = started.batch();
      batch.put('meta', record, record);
      started.commit(batch);
    },
  });
  await expect(restoring).rejects.toThrow('made a new state in');
  expect(readdirSync(into).filter(name => /^(log|restore)/.test(name))).toEqual(['log']);
  started!.close();
  const reader = openReaderBeside(into);
  expect(reader.get('meta', record)).toEqual(record);
  reader.close();
});

test('a restore is refused while a service runs on the directory, though its ledger was moved away', async () => {
  const running = new Gateway(settings);
  onTestFinished(() => running.discard());
  await running.start();
  const data = join(running.directory, 'data');
  rmSync(join(data, 'data.mdb'));
  expect(await headgate(['restore', backup, '--into', data])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`is in use by process ${running.pid}: stop it first`),
  });
  expect(readdirSync(data).filter(name => /^(log|restore|data)/.test(name))).toEqual(['log']);
});

test('of a state that a kill has left, a backup has what was acknowledged; a restore in its place keeps the old log aside', async () => {
  const killed = new Gateway(settings);
  onTestFinished(() => killed.discard());
  await killed.start();
  const { job_id: id } = await killed.finished('worker/handle', { name: 'before the kill' });
  await killed.kill9();
  const at = ['--config', killed.directory];
  const copy = join(out, 'of-killed');
  expect(await headgate(['backup', copy, ...at])).toMatchObject({ status: 0 });
  expect(await headgate(['state', 'info', ...at, '--json'])).toMatchObject({ json: { format: formatVersion } });
  expect(await headgate(['backup', 'verify', copy])).toMatchObject({ status: 0 });

  const data = join(killed.directory, 'data');
  // The ledger is lost, its log is not.
  await killed.start();
  await killed.kill9();
  rmSync(join(data, 'data.mdb'));
  expect(await headgate(['restore', copy, '--into', data])).toMatchObject({ status: 0 });
  expect(readdirSync(data).filter(name => name.startsWith('log'))).toEqual([expect.stringMatching(/^log-aside-/)]);
  await killed.start();
  expect(await killed.job(id)).toMatchObject({ status: 'succeeded' });
});
