// A plugin that misbehaves harms its own job alone: the service, other jobs and the machine are not affected.
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { shareVaultGateway } from '../../feature/vault/service.ts';
import { until } from '../gateway/until.ts';
import { besideRows, nameOf, neighbours, processRows, type Row, secret, workerRows } from './rows.ts';

const rows = [
  ...processRows.map(row => named(row, 'process_')),
  ...workerRows.map(row => named(row, 'worker_')),
  ...besideRows.map(row => named(row, 'beside_')),
];
const teller = ['process_', 'worker_'].map(prefix => `${prefix}says_its_secret_in_three_ways`);
/** The number of programs that can run at once. It is also the number of hosts that start programs, so each host runs one. */
const places = 4;
const heldAt = (gate: string) => ({
  code: `#!/bin/sh\nuntil [ -e ../../gate-${gate} ]; do sleep 0.05; done; echo '{"status":"ok"}'\n`,
  entrypoint: 'run',
  commands: { handle: {} },
});
const good = `export const handle = ({ event }) => ({ result: event.payload });`;

const vault = shareVaultGateway({
  service: { max_workers: places },
  plugins: {
    good,
    early: heldAt('early'),
    held: heldAt('held'),
    ...Object.fromEntries(rows.map(({ name, row }) => [name, row.plugin])),
  },
  instances: Object.fromEntries(rows.map(({ name, row }) => [name, { retry: { max_attempts: 1 }, ...row.instance }])),
});
const { gateway } = vault;

/** Memory by which a process may grow meanwhile, because its garbage collector has not run yet. */
const spareMb = 300;

beforeAll(async () => {
  for (const name of teller) await vault.do('principal', { name, kind: 'plugin' });
  await vault.do('secret', { name: 'key', value: secret, authorized_principals: teller });
});

function named(row: Row, prefix: string) {
  return { name: nameOf(row, prefix), row };
}

function hostsUp(): { readonly host: unknown; readonly pid: number }[] {
  const up = gateway.log.filter(line => line.msg === 'the plugin host is up');
  return up.map(line => ({ host: line['host'], pid: Number(line['pid']) }));
}

/** The pids of the hosts; of hosts with the same name, the newest. */
function hostPids(): number[] {
  return [...new Map(hostsUp().map(({ host, pid }) => [host, pid])).values()];
}

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write('SKIPPED: the open files of service and hosts are not counted; run the tests as root\n');

/** The number of open files. Service and hosts forbid inspection by their own user, so only root can count them. */
function descriptorsOf(pid: number): number {
  return isRoot ? readdirSync(`/proc/${pid}/fd`).length : 0;
}

function memoryMbOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

/** The plugins in whose directories processes run. */
function plugged(): string[] {
  const directory = `${gateway.directory}/plugins/`;
  return readdirSync('/proc').flatMap(pid => {
    try {
      const at = readlinkSync(`/proc/${pid}/cwd`);
      return at.startsWith(directory) ? [at.slice(directory.length)] : [];
    } catch {
      return [];
    }
  });
}

async function submit({ name, row }: (typeof rows)[number]): Promise<string> {
  return gateway.submit(`${name}/handle`, row.payload);
}

test('process plugins', async () => {
  expect(await gateway.finished('good/handle', { n: 0 })).toMatchObject({ status: 'succeeded' });
  const first = await Promise.all(Array.from({ length: places }, () => gateway.submit('early/handle')));
  await until('all hosts are up', () => hostPids().length === 1 + places);
  gateway.open('early');
  for (const id of first) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded' });
  const ours = [gateway.pid, ...hostPids()];
  const before = ours.map(descriptorsOf);
  const memoryBefore = ours.map(memoryMbOf);

  const waiting = await gateway.submit('held/handle');
  const all = rows.filter(({ name }) => name.startsWith('process_'));
  const ids = await Promise.all(all.map(submit));
  const others = await Promise.all(Array.from({ length: 20 }, (_, n) => gateway.submit('good/handle', { n })));
  for (const [n, id] of others.entries())
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1, result: { result: { n } } });
  // The good jobs ended although this job occupied one host all the time, and two other jobs occupied a host each for seconds.
  expect((await gateway.job(waiting)).status).toBe('running');
  gateway.open('held');
  expect(await gateway.settled(waiting)).toMatchObject({ status: 'succeeded' });
  for (const [i, { name, row }] of all.entries()) {
    expect(await gateway.settled(ids[i]!), row.title).toMatchObject(row.ends);
    // Once the end of a job is reported, none of its processes may run: they could meet the next attempt.
    if (row.ends.status !== 'succeeded')
      await until(`nothing is left of what ${row.title}`, () => !plugged().includes(name), 1000);
  }
  await until('nothing of them is left', () => plugged().length === 0);
  expect([gateway.pid, ...hostPids()]).toEqual(ours);
  await until('all descriptors are closed', () => ours.every((pid, i) => descriptorsOf(pid) <= before[i]!));
  for (const [i, pid] of ours.entries()) expect(memoryMbOf(pid)).toBeLessThan(memoryBefore[i]! + spareMb);
  expect(existsSync(join(gateway.directory, 'plugins/process_exits_with_0/stolen'))).toBe(false);
});

test('worker plugins', async () => {
  const before = descriptorsOf(gateway.pid);
  const memoryBefore = memoryMbOf(gateway.pid);
  for (const one of rows.filter(({ name }) => name.startsWith('worker_'))) {
    const id = await submit(one);
    const other = await gateway.submit('good/handle', { title: one.row.title });
    expect(await gateway.settled(id), one.row.title).toMatchObject(one.row.ends);
    const ended = await gateway.settled(other);
    expect(ended, one.row.title).toMatchObject({ status: 'succeeded', attempt: 1 });
  }
  await until('all descriptors are closed', () => descriptorsOf(gateway.pid) <= before);
  expect(memoryMbOf(gateway.pid)).toBeLessThan(memoryBefore + spareMb);
  const newest = hostPids();
  const lost = hostsUp().filter(({ pid }) => !newest.includes(pid));
  await until('lost hosts are gone', () => !lost.some(({ pid }) => existsSync(`/proc/${pid}`)));
});

test.each(besideRows)('a job that $title among others that are under way in its thread', async row => {
  const name = nameOf(row, 'beside_');
  const memoryBefore = memoryMbOf(gateway.pid);
  const good = Array.from({ length: neighbours }, () => gateway.submit(`${name}/handle`, { gate: name }));
  const ids = await Promise.all(good);
  const started = () => new Set(gateway.journal().map(({ job }) => job));
  await until('all are under way', () => ids.every(id => started().has(id)));
  const id = await submit({ name, row });
  const other = await gateway.submit('good/handle', { title: row.title });
  await gateway.noted('start', id);
  gateway.open(name);
  expect(await gateway.settled(other)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(await gateway.settled(id)).toMatchObject(row.ends);
  for (const neighbour of await gateway.allSettled(ids))
    expect(neighbour, row.title).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(memoryMbOf(gateway.pid)).toBeLessThan(memoryBefore + spareMb);
});

test('and afterwards', async () => {
  expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ status: 'ok', queue_depth: 0 });
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
  expect(gateway.stderr).not.toContain(secret);
  // A line of the log is one line, whatever a plugin prints.
  expect(gateway.stderr).not.toMatch(/^level=fatal/m);
  expect(gateway.stderr).not.toContain('\u001b');
});
