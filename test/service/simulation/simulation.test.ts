// Lives of the whole ledger from seeds: whatever fails, nothing is lost, nothing happens twice, and in the end everything settles.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { cyclesOf, withSlow } from '../../support/deep.ts';
import { type Patch, planted, readPatches } from './planted.ts';

const exec = promisify(execFile);
const seeds = cyclesOf({ deep: 1000, quick: 200 });
/** Turns with faults; about as many without faults follow. */
const turns = cyclesOf({ deep: 200, quick: 100 });
/** In quick runs one process: the first lives of a process are several times slower than later ones, and other tests use the other cores. */
const workers = cyclesOf({ deep: availableParallelism(), quick: 1 });
/** Lives whose ledger is on disk. */
const diskSeeds = cyclesOf({ deep: 200, quick: withSlow ? 8 : 2 });
const root = fileURLToPath(new URL('../../..', import.meta.url));
const main = 'dist/simulated/test/service/simulation/main.js';

beforeAll(() => exec('npx', ['tsc', '-p', 'test/service/simulation'], { cwd: root }), 600_000);

/** Runs lives in processes of their own, compiled: the runner of the tests would make each life take three times as long. */
async function simulate(...how: readonly string[]): Promise<string> {
  const { stdout } = await exec(process.execPath, [main, ...how], { cwd: root }).catch(error => error);
  return stdout;
}

it('keeps every promise in every life', { timeout: 1_200_000 }, async () => {
  const stdout = await simulate('--seeds', `${seeds}`, '--turns', `${turns}`, '--workers', `${workers}`);
  expect(stdout).toMatch(`${seeds} seeds in `);
  expect(stdout).toMatch(/: nothing broke\n/);
  // The simulation proves something only if every fault strikes and enough is compared.
  expect(stdout).toMatch(/faults that never struck: none\n/);
  const compared = JSON.parse(/^compared (\{.*?\});/m.exec(stdout)![1]!);
  expect(compared.jobs).toBeGreaterThan(50 * seeds);
  expect(compared.results).toBeGreaterThan(20 * seeds);
  expect(compared.children).toBeGreaterThan(20 * seeds);
  expect(compared.started).toBeGreaterThan(10 * seeds);
  expect(compared.taken).toBeGreaterThan(seeds / 10);
  expect(compared.acted).toBeGreaterThan(seeds / 2);
});

it('keeps every promise in lives whose ledger is on disk, with its commit log, checkpoints and recoveries', {
  timeout: 1_200_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-worlds-'));
  const stdout = await simulate(
    '--seeds',
    `${diskSeeds}`,
    '--turns',
    `${turns}`,
    '--workers',
    '1',
    '--disk',
    directory,
  );
  expect(stdout).toMatch(new RegExp(`^${diskSeeds} seeds in .*: nothing broke$`, 'm'));
  expect(readdirSync(directory)).toEqual([]);
  rmSync(directory, { recursive: true });
});

it('has planted bugs that still apply: npm run simulate -- --planted shows that they are found', () => {
  const patches = readPatches(fileURLToPath(new URL('planted', import.meta.url)));
  const sourceOf = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const isStale = (patch: Patch) => planted(patch, sourceOf(patch.path)) === null;
  expect(patches.filter(isStale).map(({ name }) => name)).toEqual([]);
  expect(patches.length).toBeGreaterThanOrEqual(20);
});
