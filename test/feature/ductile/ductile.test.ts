// Plugins with `manifest_spec: ductile.plugin` run unmodified: in Python with SQLite, in bash with git, and in Node.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { type Job, shareGateway } from '../../service/gateway/gateway.ts';

const runs = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
const [hasPython, hasGit, hasBash] = [runs('python3'), runs('git'), runs('bash')];
const unless = (there: boolean, name: string): string => (there ? '' : ` (skipped: ${name} is not installed)`);

const home = mkdtempSync(join(tmpdir(), 'headgate-ductile-'));
const stock = join(home, 'stock.db');
afterAll(() => rmSync(home, { recursive: true }));

const quick = { max_attempts: 2, backoff_base: '5ms' };
const gateway = shareGateway({
  roots: [fileURLToPath(new URL('plugins', import.meta.url))],
  instances: {
    stock_watch: { config: { db_path: stock }, timeouts: { health: '2m' } },
    lost_stock: { uses: 'stock_watch', config: { db_path: '/nowhere/stock.db' }, retry: quick },
    busy_desk: { uses: 'desk', config: { answer: 'later' }, retry: quick },
    closed_desk: { uses: 'desk', config: { answer: 'never' } },
    lost_desk: { uses: 'desk', config: { answer: 'misconfigured' } },
  },
  pipelines: [
    {
      name: 'order-more',
      on: 'stock.low',
      steps: [
        { id: 'prepare', uses: 'desk', baggage: { item: 'payload.item', 'order.left': 'payload.left' } },
        { id: 'file', uses: 'desk', with: { left: 'overwritten' } },
      ],
    },
  ],
});

const outputOf = (job: Job) => job.result?.result;

describe.skipIf(!hasPython)(`a plugin in Python${unless(hasPython, 'python3')}`, () => {
  test('reads a SQLite file, emits events and keeps a snapshot as its state', async () => {
    sqlite('CREATE TABLE stock (item TEXT, left INTEGER); INSERT INTO stock VALUES ("bolt", 3), ("nut", 9)');
    const first = await gateway.finished('stock_watch/poll');
    expect(first).toMatchObject({ status: 'succeeded', result: { result: '1 low, 1 new' } });
    expect(first.result?.logs).toEqual([{ level: 'info', message: 'looked for less than 5' }]);
    expect(first.result?.events).toEqual([
      { type: 'stock.low', payload: { item: 'bolt', left: 3, result: '1 low, 1 new' }, dedupe_key: 'bolt:3' },
    ]);
    expect(await gateway.finished('stock_watch/handle', { item: 'bolt', count: 4 })).toMatchObject({
      status: 'succeeded',
    });
    // The updates of `handle` are merged into the state; those of `poll` replace it.
    expect(outputOf(await gateway.finished('stock_watch/health'))).toBe(
      '{"last_delivery": "bolt", "low": {"bolt": 3}}',
    );
    expect(outputOf(await gateway.finished('stock_watch/poll'))).toBe('0 low, 0 new');
    expect(outputOf(await gateway.finished('stock_watch/health'))).toBe('{"low": {}}');
  });

  test('answers an error for good, and one that is worth another attempt', async () => {
    const error = 'there is no wing';
    expect(await gateway.finished('stock_watch/handle', { item: 'wing', count: 1 })).toMatchObject({
      status: 'failed',
      last_error: error,
    });
    expect(await gateway.finished('lost_stock/poll')).toMatchObject({
      status: 'dead',
      attempt: 2,
      last_error: expect.stringContaining('the database cannot be used'),
    });
  });

  test('has its compact schema enforced', async () => {
    const { status, body } = await gateway.call('POST', '/plugin/stock_watch/handle', { payload: { count: 'four' } });
    expect([status, body['code']]).toEqual([400, 'invalid_payload']);
  });
});

describe.skipIf(!hasBash || !hasGit)(
  `a plugin in bash${unless(hasBash, 'bash')}${hasBash ? unless(hasGit, 'git') : ''}`,
  () => {
    test('reads a git repository, and its result is in the events that have none', async () => {
      const repository = join(home, 'repository');
      mkdirSync(repository);
      git(repository, 'init', '--quiet');
      for (const message of ['Begin', 'Mend the gate'])
        git(repository, 'commit', '--quiet', '--allow-empty', '-m', message);
      const job = await gateway.finished('release_notes/handle', { repository });
      expect(job).toMatchObject({ status: 'succeeded', result: { result: '2 commits' } });
      expect(job.result?.events).toEqual([
        { type: 'release_notes.made', payload: { text: 'Mend the gate;Begin;', result: '2 commits' } },
      ]);
    });

    test('answers an error whatever its exit status', async () => {
      expect(await gateway.finished('release_notes/handle', { repository: '/nowhere' })).toMatchObject({
        status: 'failed',
        last_error: '/nowhere is no repository',
      });
    });
  },
);

describe('a plugin in Node', () => {
  test('is a process although its file ends with .js, and finds the names that it reads', async () => {
    const { result } = await gateway.finished('desk/handle', { a: 1 });
    const context = { ductile_plugin: 'desk', ductile_route_depth: expect.any(Number) };
    expect(result?.result).toMatchObject({ type: 'api.trigger', payload: { a: 1 }, context });
    expect(result?.result).not.toHaveProperty('context.ductile_pipeline');
  });

  test('finds the baggage in its context and, where it has no such key, in its payload', async () => {
    const [, ...jobs] = await gateway.tree((await gateway.ran('order-more', { item: 'nut', left: 2 })).job_id);
    const seen = outputOf(jobs.at(-1)!);
    const context = { item: 'nut', order: { left: 2 }, ductile_pipeline: 'order-more', ductile_step_id: 'file' };
    expect(seen).toMatchObject({ payload: { item: 'nut', order: { left: 2 }, left: 'overwritten' }, context });
  });

  test('asks for another attempt, or for none', async () => {
    expect(await gateway.finished('busy_desk/poll')).toMatchObject({
      status: 'dead',
      attempt: 2,
      last_error: 'not now',
    });
    expect(await gateway.finished('closed_desk/poll')).toMatchObject({ status: 'failed', last_error: 'not at all' });
    expect(await gateway.finished('lost_desk/poll')).toMatchObject({
      status: 'failed',
      attempt: 1,
      last_error: expect.stringContaining('exit status 78'),
    });
  });
});

function sqlite(sql: string): void {
  const code = 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])';
  const { status, stderr } = spawnSync('python3', ['-c', code, stock, sql]);
  expect([status, String(stderr)]).toEqual([0, '']);
}

function git(directory: string, ...words: readonly string[]): void {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];
  const { status, stderr } = spawnSync('git', ['-C', directory, ...who, ...words]);
  expect([status, String(stderr)]).toEqual([0, '']);
}
