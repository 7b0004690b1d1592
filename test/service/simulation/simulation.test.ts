// Lives of the whole ledger from seeds: whatever fails, nothing is lost, nothing happens twice, and in the end everything settles.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { cyclesOf } from '../../support/deep.ts';
import { faultNames } from './faults.ts';
import { planted, readPatches } from './planted.ts';
import { commandOf, run, shrink, turnsDefault } from './scenario.ts';

const seeds = cyclesOf({ deep: 1000, quick: 200 });

it('keeps every promise in every life', { timeout: 1_200_000 }, () => {
  const struck = new Map<string, number>();
  const compared = { jobs: 0, runs: 0, results: 0, children: 0, started: 0 };
  for (let seed = 1; seed <= seeds; seed++) {
    const ran = run({ seed, turns: turnsDefault, without: new Set() });
    if (ran.problem !== null) {
      const { problem, scenario } = shrink(ran);
      expect.fail(`seed ${seed}: ${ran.problem}\nin short: ${problem}\nagain: ${commandOf(scenario)}`);
    }
    for (const [name, times] of ran.struck) struck.set(name, (struck.get(name) ?? 0) + times);
    for (const name of Object.keys(compared) as (keyof typeof compared)[]) compared[name] += ran.compared![name];
  }
  // It is worth something only when all of it happens.
  expect(faultNames.filter(name => !struck.has(name))).toEqual([]);
  expect(compared.jobs).toBeGreaterThan(50 * seeds);
  expect(compared.results).toBeGreaterThan(20 * seeds);
  expect(compared.children).toBeGreaterThan(20 * seeds);
  expect(compared.started).toBeGreaterThan(10 * seeds);
});

it('has planted bugs that still apply: npm run simulate -- --planted shows that they are found', () => {
  const patches = readPatches(fileURLToPath(new URL('planted', import.meta.url)));
  const sourceOf = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const applying = patches.filter(patch => planted(patch, sourceOf(patch.path)) !== null);
  // Some lines may have changed since: the command names what must be written anew.
  expect(applying.length).toBeGreaterThanOrEqual(20);
});
