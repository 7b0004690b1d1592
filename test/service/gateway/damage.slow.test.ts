// A start with damaged files of the state: a damaged ledger ends it with 74 and a line that says what to do; a damaged index is built again.
import {
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readCheckpoint } from '../../../runtime/commit-log/checkpoint-file.ts';
import { segmentPath } from '../../../runtime/commit-log/segments.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import { shareGateway } from './gateway.ts';

const gateway = shareGateway({
  plugins: {
    echo: `export const say = async () => ({ status: "ok", result: "heard" });
      export const shout = async () => ({ status: "error", error: "deafened", retry: false });`,
  },
});

async function checked(): Promise<unknown> {
  const { body } = await gateway.call('GET', '/system/doctor');
  return (body['checks'] as readonly { readonly name: string }[]).find(({ name }) => name === 'search_index');
}

test('an index that cannot be opened is left as it is: the service starts without it, and opens it once it can', async () => {
  const { job_id } = await gateway.finished('echo/say');
  await gateway.term();
  const index = join(gateway.directory, 'data/search');
  const { ino } = statSync(join(index, 'data.mdb'));
  renameSync(index, `${index}-kept`);
  symlinkSync(join(gateway.directory, 'nowhere/search'), index);

  await gateway.start();
  expect(await checked()).toMatchObject({
    passed: false,
    detail: expect.stringMatching(/cannot be opened, so/),
  });
  const refused = await gateway.call('GET', '/job-logs?query=heard');
  expect(refused).toMatchObject({
    status: 503,
    body: { code: 'unavailable', detail: 'the search index cannot be opened' },
  });
  expect((await gateway.call('GET', '/stopwatch/echo')).status).toBe(503);
  await gateway.finished('echo/say');
  rmSync(index);
  renameSync(`${index}-kept`, index);
  await expect.poll(() => checked()).toMatchObject({ passed: true, detail: 'open' });
  const { body } = await gateway.call('GET', '/job-logs?query=heard');
  expect(body).toMatchObject({ total: 2, logs: [{}, { job_id }] });
  expect(statSync(join(index, 'data.mdb')).ino).toBe(ino);
  expect(readdirSync(join(gateway.directory, 'data')).filter(name => name.startsWith('search-'))).toEqual([]);
});

test('a damaged index is built again from the ledger, with a warning', async () => {
  const id = await gateway.finished('echo/say');
  await gateway.term();
  const index = join(gateway.directory, 'data/search');
  truncateSync(join(index, 'data.mdb'), 16_384);

  await gateway.start();
  const line = gateway.log.find(({ msg }) => msg === 'the search index is being rebuilt from the ledger')!;
  expect(line).toMatchObject({
    level: 40,
    reason: expect.stringContaining('it was cut off'),
    setAside: expect.any(String),
  });
  expect(statSync(join(String(line['setAside']), 'data.mdb')).size).toBe(16_384);
  expect(await checked()).toEqual({
    name: 'search_index',
    passed: true,
    detail: `open, rebuilt from the ledger: ${line['reason']}; the previous one is in ${line['setAside']}`,
  });
  const { body } = await gateway.call('GET', '/job-logs?query=heard');
  expect(body).toMatchObject({ total: 3, logs: [{ job_id: id.job_id }, {}, {}] });
});

test('damage in the commit log ends the start with 74 and names the way out: state repair gives up what follows it', async () => {
  const kept = await gateway.finished('echo/say');
  // Each start begins with a checkpoint.
  await gateway.restart();
  const lost = await gateway.finished('echo/shout');
  const found = async () => [
    (await gateway.call('GET', '/failures')).body['total'],
    (await gateway.call('GET', '/job-logs?query=deafened')).body['total'],
  ];
  await expect.poll(found).toEqual([1, 1]);
  await gateway.kill9();
  const log = join(gateway.directory, 'data/log');
  const { segment, offset, lsn } = readCheckpoint(log)!;
  const file = segmentPath(log, segment);
  const bytes = readFileSync(file);
  bytes[offset + 100]! ^= 1;
  writeFileSync(file, bytes);

  await expect(gateway.start()).rejects.toThrow('instead of getting ready');
  expect(await gateway.ended).toEqual({ status: 74, signal: null });
  expect(gateway.stderr).toContain(
    `the commit log is damaged at byte ${offset} of ${file}: turn ${lsn + 1} cannot be read`,
  );
  const repair = (turn: number) =>
    headgate(['state', 'repair', '--until', String(turn), '--config', gateway.directory, '--json']);
  expect(await repair(lsn + 1)).toMatchObject({ status: 74, json: { code: 'store_fault' } });
  expect(await repair(lsn)).toMatchObject({ status: 0, json: { repaired: true, turn: lsn } });
  const [aside] = readdirSync(join(gateway.directory, 'data')).filter(name => name.startsWith('log-aside-'));
  expect(readFileSync(segmentPath(join(gateway.directory, 'data', aside!), segment))).toEqual(bytes);
  await gateway.start();
  expect((await gateway.call('GET', `/job/${kept.job_id}`)).body).toMatchObject({ status: 'succeeded' });
  expect((await gateway.call('GET', `/job/${lost.job_id}`)).status).toBe(404);
  expect(await found()).toEqual([0, 0]);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

// This test comes last, because the ledger cannot be used after it.
test('a damaged ledger ends the start and every command on the store with 74, and stays as it is', async () => {
  await gateway.term();
  const file = join(gateway.directory, 'data/data.mdb');
  writeFileSync(file, 'hello\n');

  await expect(gateway.start()).rejects.toThrow('instead of getting ready');
  const line = `${file} is damaged: it does not begin with the header of an LMDB database; restore`;
  expect(await gateway.ended).toEqual({ status: 74, signal: null });
  expect(gateway.stderr).toContain(line);
  for (const words of ['audit', 'init', 'rotate-key', 'reset-admin-token']) {
    const { status, json, stderr } = await headgate(['vault', words, '--config', gateway.directory, '--json']);
    expect([words, status, json.code]).toEqual([words, 74, 'store_fault']);
    expect(stderr).toContain(line);
  }
  expect(readFileSync(file, 'utf8')).toBe('hello\n');
});
