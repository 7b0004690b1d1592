// Where a thread's time goes, by a profile written by hand.
import type { Profiler } from 'node:inspector';
import { expect, test } from 'vitest';
import { breakDown } from '../../../bench/profile/breakdown.ts';

const root = 'file:///house/';

type Row = readonly [functionName: string, path: string, children?: readonly number[]];

/** Nodes are numbered from 1; each sample lasts 10 µs, and the first is at 1,000. */
function profile(rows: readonly Row[], samples: readonly number[]): Profiler.Profile {
  const nodes = rows.map(([functionName, path, children = []], n) => ({
    id: n + 1,
    callFrame: { functionName, scriptId: '', url: path && root + path, lineNumber: 0, columnNumber: 0 },
    children: [...children],
  }));
  const timeDeltas = samples.map((_, n) => (n === 0 ? 0 : 10));
  return { nodes, startTime: 1_000, endTime: 1_000 + 10 * samples.length, samples: [...samples], timeDeltas };
}

const rows: readonly Row[] = [
  ['(root)', '', [2, 3, 4, 9]],
  ['(idle)', ''],
  ['(garbage collector)', ''],
  ['settle', 'dist/actors/job/job-state.js', [5, 6, 8]],
  ['pack', 'node_modules/msgpackr/pack.js'],
  ['put', 'dist/runtime/store/batch.js', [7]],
  ['finishTxn', ''],
  ['handler', 'plugins-of-mine/index.mjs'],
  ['processTicks', ''],
];

test('a function counts to the floor where its code is, and what is on none to the floor that called it', () => {
  const { floorsUs, wholeUs } = breakDown(profile(rows, [4, 5, 5, 6, 7, 8, 2, 3, 9]), [], root);
  expect(wholeUs).toBe(90);
  expect(floorsUs).toMatchObject({ ledger: 30, storage: 20, plugin: 10, idle: 10, garbage: 10, node: 10, edge: 0 });
});

test('only what lies in the stretches counts, to the µs', () => {
  const spans = [
    { startUs: 1_005, endUs: 1_012 },
    { startUs: 1_030, endUs: 2_000 },
  ];
  const { floorsUs, wholeUs } = breakDown(profile(rows, [4, 2, 2, 3]), spans, root);
  expect(wholeUs).toBe(17);
  expect(floorsUs).toMatchObject({ ledger: 5, idle: 2, garbage: 10 });
});

test('functions are added up over all their callers, the longest first', () => {
  const { functions } = breakDown(profile(rows, [5, 5, 6, 7, 7, 7]), [], root);
  expect(functions.map(({ name, us }) => [name, us])).toEqual([
    ['finishTxn', 30],
    ['pack node_modules/msgpackr/pack.js:1', 20],
    ['put runtime/store/batch.js:1', 10],
  ]);
});
