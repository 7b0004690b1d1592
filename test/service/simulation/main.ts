// npm run simulate: runs many seeds on all cores, or repeats one. With --disk DIRECTORY, stores are on that disk. With --planted, it shows that
// the simulation finds the planted bugs.
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faultNames } from './faults.ts';
import { type Patch, plantIn, readPatches } from './planted.ts';
import { commandOf, run, shrink, turnsDefault } from './scenario.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    turns: { type: 'string', default: String(turnsDefault) },
    without: { type: 'string', default: '' },
    workers: { type: 'string', default: String(availableParallelism()) },
    worker: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    only: { type: 'string' },
    disk: { type: 'string' },
  },
});
const turns = Number(values.turns);
const workers = Number(values.workers);
const disk = values.disk ?? null;
const without = new Set(values.without.split(',').filter(name => name !== ''));

/** Worlds allocate many objects that live only for a turn. With a large young generation of the heap, most of them are never copied. */
const heap = ['--max-semi-space-size=64'];

/** The number of seeds that a worker gets at once. */
const chunkSeeds = 20;
/** The number of seeds after which progress is printed again. */
const toldSeeds = 1000;
type Chunk = { readonly from: number; readonly to: number };
type Compared = { [what: string]: number };
type Told =
  | { readonly done: Chunk; readonly struck: readonly string[]; readonly compared: Compared }
  | { readonly failed: { readonly seed: number; readonly problem: string } };

function one(seed: number): void {
  const ran = run({ seed, turns, without, disk });
  if (ran.problem === null) {
    console.log(`seed ${seed}: ${ran.turns} turns, nothing broke; compared ${JSON.stringify(ran.compared)}`);
    return;
  }
  console.log(`seed ${seed}, turn ${ran.turns}: ${ran.problem}`);
  process.exitCode = 1;
}

/** Runs the seeds that it is handed; ends when there are no more. */
function work(): void {
  process.on('message', ({ from, to }: Chunk) => {
    const struck = new Set<string>();
    const compared: Compared = {};
    for (let seed = from; seed < to; seed++) {
      const ran = run({ seed, turns, without, disk });
      if (ran.problem !== null) process.send!({ failed: { seed, problem: ran.problem } } satisfies Told);
      for (const name of ran.struck.keys()) struck.add(name);
      add(compared, ran.compared ?? {});
    }
    process.send!({ done: { from, to }, struck: [...struck], compared } satisfies Told);
  });
}

function add(sum: Compared, more: Compared): void {
  for (const [what, count] of Object.entries(more)) sum[what] = (sum[what] ?? 0) + count;
}

async function many(from: number, count: number): Promise<void> {
  const startMs = performance.now();
  const end = from + count;
  const failures: { readonly seed: number; readonly problem: string }[] = [];
  const struck = new Set<string>();
  const compared: Compared = {};
  let next = from;
  const worker = () =>
    new Promise<void>((resolve, reject) => {
      const child = fork(
        fileURLToPath(import.meta.url),
        ['--worker', '--turns', String(turns), '--without', values.without, ...(disk === null ? [] : ['--disk', disk])],
        { execArgv: heap },
      );
      const hand = (): void => {
        if (next >= end || failures.length > 0) {
          child.disconnect();
          return;
        }
        const to = Math.min(end, next + chunkSeeds);
        if (next > from && (next - from) % toldSeeds === 0) console.log(`${next - from} seeds are under way or done`);
        child.send({ from: next, to } satisfies Chunk);
        next = to;
      };
      child.on('message', (told: Told) => {
        if ('failed' in told) {
          failures.push(told.failed);
          return;
        }
        for (const name of told.struck) struck.add(name);
        add(compared, told.compared);
        hand();
      });
      child.on('error', reject);
      child.on('exit', () => resolve());
      hand();
    });
  await Promise.all(Array.from({ length: workers }, worker));
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(
    `${next - from} seeds in ${seconds} s: ${failures.length === 0 ? 'nothing broke' : `${failures.length} broke`}`,
  );
  const spared = faultNames.filter(name => !without.has(name) && !struck.has(name));
  console.log(`compared ${JSON.stringify(compared)}; faults that never struck: ${spared.join(', ') || 'none'}`);
  for (const { seed, problem } of failures.slice(0, 10)) {
    console.log(`\nseed ${seed}: ${problem}`);
    const smallest = shrink(run({ seed, turns, without, disk }));
    console.log(`  in short, ${smallest.problem}\n  again: ${commandOf(smallest.scenario)}`);
  }
  if (failures.length > 0) process.exitCode = 1;
}

/** From `dist/simulated/test/service/simulation`, where this runs. */
const built = fileURLToPath(new URL('../../..', import.meta.url));
const root = fileURLToPath(new URL('../../../../..', import.meta.url));

/** Plants each bug in a copy of the product, and runs seeds until one finds it. */
async function plantAll(seedsMax: number): Promise<void> {
  const patches = readPatches(join(root, 'test/service/simulation/planted')).filter(
    ({ name }) => values.only === undefined || name === values.only,
  );
  const missed: string[] = [];
  const stale: string[] = [];
  const waiting = [...patches];
  const finder = async (): Promise<void> => {
    for (let patch = waiting.shift(); patch; patch = waiting.shift()) {
      const copy = plantIn(root, built, patch);
      if (copy === null) {
        stale.push(patch.name);
        console.log(`${patch.name}: no longer applies to ${patch.path}: write the patch again`);
        continue;
      }
      const found = await find(patch, copy, seedsMax);
      if (found === null) missed.push(patch.name);
    }
  };
  await Promise.all(Array.from({ length: workers }, finder));
  console.log(`${patches.length - missed.length - stale.length} of ${patches.length} planted bugs are found`);
  if (missed.length > 0) console.log(`not found in ${seedsMax} seeds: ${missed.join(', ')}`);
  if (stale.length > 0) console.log(`no longer apply: ${stale.join(', ')}`);
  if (missed.length + stale.length > 0) process.exitCode = 1;
}

/** Returns the number of seeds until the bug was found; null if no seed found it. */
function find({ name, what }: Patch, copy: string, seedsMax: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = fork(join(copy, 'test/service/simulation/main.js'), ['--worker', '--turns', String(turns)], {
      execArgv: heap,
    });
    let from = 1;
    let found: number | null = null;
    const hand = (): void => void child.send({ from, to: from + 1 } satisfies Chunk);
    child.on('message', (told: Told) => {
      // The worker may report the end of its seed before the kill ends it.
      if (found !== null) return;
      if ('failed' in told) {
        found = told.failed.seed;
        console.log(`${name}: found by seed ${found}. ${what}\n    ${told.failed.problem.split('\n')[0]}`);
        child.kill();
      } else if (++from > seedsMax) child.kill();
      else hand();
    });
    child.on('error', reject);
    child.on('exit', () => resolve(found));
    hand();
  });
}

if (values.worker) work();
else if (values.planted) await plantAll(Number(values.seeds));
else if (values.seed !== undefined) one(Number(values.seed));
else await many(Number(values.from), Number(values.seeds));
