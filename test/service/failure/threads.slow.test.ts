// Threads of the service that die, in a real one: the indexer starts again, with whatever index stands there; the ledger ends the service.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../gateway/gateway.ts';
import { echo, worker } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';

/** Loaded into each thread of the service: ends the thread when its file appears, and removes the file, so that the next thread lives. */
const deadly = `
import { existsSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
const file = process.env.HEADGATE_TEST_DEATH + basename(dirname(process.argv[1] ?? ''));
const end = () => { rmSync(file); process.exit(3); };
if (!isMainThread) setInterval(() => existsSync(file) && end(), 5).unref();
`;
const prefix = join(tmpdir(), `headgate-death-${process.pid}-`);
const environment = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(deadly)}`,
  HEADGATE_TEST_DEATH: prefix,
};

const deaths = (gateway: Gateway, part: string) => gateway.log.filter(line => line['part'] === part).length;

async function end(gateway: Gateway, part: string): Promise<void> {
  const before = deaths(gateway, part);
  writeFileSync(`${prefix}${part}`, '');
  await until(`the death of the ${part} is told`, () => deaths(gateway, part) > before);
}

/** The LMDB files that the service has mapped, also deleted ones. */
function databasesOf({ pid }: Gateway): string[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n');
  const paths = lines.filter(line => line.includes('data.mdb')).map(line => line.slice(line.indexOf('/')));
  return [...new Set(paths)].sort();
}

test('the indexer starts again after each death, readers leave files that are gone, and without the ledger the service ends', async () => {
  const gateway = await startGateway({ plugins: { echo } }, { environment });
  const state = join(gateway.directory, 'data');
  let jobs = 0;
  /** Runs one more job, and expects the search to find it and all jobs before it, and the stopwatch to have counted each. */
  const expectWhole = async () => {
    const word = `word${jobs++}`;
    const { job_id } = await gateway.finished('echo/say', { heard: word });
    // If no index could be opened, searches get 503 until the next indexer has made one.
    await until(
      'the index can be searched',
      async () => (await gateway.call('GET', '/job-logs?query=x')).status === 200,
    );
    const found = async (query: string) => (await gateway.call('GET', `/job-logs?query=${query}`)).body;
    expect(await found(word)).toMatchObject({ total: 1, logs: [{ job_id }] });
    expect(await found('heard')).toMatchObject({ total: jobs });
    const counted = async () => {
      const { body } = await gateway.call('GET', '/stopwatch/echo');
      return JSON.stringify(body).includes(`"sample_count":${jobs}`);
    };
    await until('the stopwatch has counted all', counted, 20_000);
  };
  await expectWhole();
  await end(gateway, 'indexer');
  await expectWhole();

  // The file in the place of the index is no LMDB file: the next indexer sets it aside, and builds the index again.
  for (let round = 0; round < 2; round++) {
    renameSync(join(state, 'search'), join(state, `gone-${round}`));
    mkdirSync(join(state, 'search'));
    writeFileSync(join(state, 'search/data.mdb'), Buffer.alloc(16_384, 7));
    await end(gateway, 'indexer');
    await expectWhole();
    await end(gateway, 'indexer');
    await expectWhole();
  }
  for (const name of readdirSync(state)) {
    if (name.startsWith('gone-') || name.startsWith('search-')) rmSync(join(state, name), { recursive: true });
  }
  await expectWhole();
  const whole = [join(state, 'data.mdb'), join(state, 'search/data.mdb')].join();
  // A reader notices a new index when it reads, so each look makes both readers read.
  const areLeft = async () => {
    for (const path of ['/job-logs?query=heard', '/stopwatch/echo']) await gateway.call('GET', path);
    return databasesOf(gateway).join() === whole;
  };
  if (process.getuid?.() === 0) await until('files that are gone are left', areLeft, 20_000);
  else console.warn('which files the service has mapped is seen by root alone: not looked at');

  writeFileSync(`${prefix}ledger`, '');
  expect(await gateway.ended).toMatchObject({ status: 70 });
});

test('a ledger that dies while the service stops is told, and the service ends as at any other time', async () => {
  const gateway = await startGateway({ plugins: { worker } }, { environment });
  const id = await gateway.submit('worker/handle', { name: 'x', gate: 'never' });
  await gateway.noted('start', id);
  gateway.signal('SIGTERM');
  await until(
    'new work is refused',
    async () => (await gateway.call('POST', '/plugin/worker/handle', {})).status === 503,
  );
  await end(gateway, 'ledger');
  expect(await gateway.ended).toMatchObject({ status: 70 });
});
