// What people see: text made harmless, tables, durations, plots, trees, graphs.
import { expect, test } from 'vitest';
import type { TreeJob } from '../../../cli/client/jobs.ts';
import { JobTree } from '../../../cli/terminal/job-tree.ts';
import { jsonText } from '../../../cli/terminal/json-text.ts';
import { percentileBar, sparkline } from '../../../cli/terminal/plot.ts';
import { table } from '../../../cli/terminal/table.ts';
import { printable, printableBlock, printableJson, type TerminalLine, writeLine } from '../../../cli/terminal/text.ts';
import { formatAt, formatMs, msOf, spanMs } from '../../../cli/terminal/time.ts';

const nasty = 'a\u001b[2Jb\u009bc\u007fd\u202ee\nf\tg\r';

test('nothing that a terminal would obey is left in a line, nor in a block but its lines', () => {
  expect(printable(nasty)).toBe('a\\u001b[2Jb\\u009bc\\u007fd\\u202ee\\nf\\tg\\r');
  expect(printableBlock(nasty)).toBe('a\\u001b[2Jb\\u009bc\\u007fd\\u202ee\nf\tg\\r');
});

test('JSON for a terminal means the same', () => {
  const json = JSON.stringify({ [nasty]: [nasty] }, null, 2);
  expect(JSON.parse(printableJson(json))).toEqual(JSON.parse(json));
  expect(printableJson(json).replaceAll('\n', '')).toMatch(/^[\x20-\x7e]*$/);
});

test('colours come from us alone', () => {
  const line: TerminalLine = ['a\u001b[31m ', { text: 'b\u001b[0m', style: 'green' }];
  expect(writeLine(line, true)).toBe('a\\u001b[31m \u001b[32mb\\u001b[0m\u001b[0m');
  expect(writeLine(line, false)).toBe('a\\u001b[31m b\\u001b[0m');
});

test('a table is as wide as its widest cells, with numbers to the right', () => {
  const rows = [
    ['short', '7', 'x'],
    [{ text: 'much longer', style: 'red' as const }, '1200', ''],
  ];
  expect(plain(table(['NAME', 'COUNT', 'REST'], rows))).toEqual([
    'NAME         COUNT  REST',
    'short            7  x',
    'much longer   1200  ',
  ]);
});

test('a table has any number of rows, and can come in parts', () => {
  const widths: number[] = [];
  expect(plain(table(['NAME', 'REST'], [['the longest', 'x']], widths))).toEqual([
    'NAME         REST',
    'the longest  x',
  ]);
  expect(plain(table(['NAME', 'REST'], [['short', 'x']], widths))).toEqual(['NAME         REST', 'short        x']);
  const many = Array.from({ length: 150_000 }, () => ['x']);
  expect(table(['NAME'], many)).toHaveLength(150_001);
});

test.each([
  [0, '0 µs'],
  [0.4, '400 µs'],
  [12.34, '12.3 ms'],
  [99.96, '100 ms'],
  [999.4, '999 ms'],
  [1000, '1.00 s'],
  [59_990, '59.99 s'],
  [59_996, '1m 00s'],
  [61_000, '1m 01s'],
  [3_600_000, '1h 00m'],
  [0.9996, '1.0 ms'],
  [999.6, '1.00 s'],
  [48 * 3_600_000, '2d 00h'],
])('%d ms is %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});

test('times have microseconds, and are shown to the millisecond', () => {
  expect(msOf('2026-11-21T09:00:00.123456Z')).toBeCloseTo(Date.parse('2026-11-21T09:00:00Z') + 123.456, 2);
  expect(spanMs('2026-11-21T09:00:00.000100Z', '2026-11-21T09:00:00.000600Z')).toBeCloseTo(0.5, 2);
  expect(spanMs(null, '2026-11-21T09:00:00Z')).toBe(null);
  expect(formatAt('2026-11-21T09:00:00.123456Z')).toBe('2026-11-21 09:00:00.123');
  expect(formatAt('2026-11-21T09:00:00Z')).toBe('2026-11-21 09:00:00');
});

test('plots are as high and as wide as their figures', () => {
  expect(sparkline([0, 1, 4, 8])).toBe('·▁▄█');
  expect(sparkline([0, 0])).toBe('··');
  expect(percentileBar([2, 4, 8], 8, 8)).toBe('██▓▓░░░░');
  expect(percentileBar([0, 0, 0], 0, 8)).toBe('');
});

test('a tree is drawn with branches, statuses and durations', () => {
  expect(drawn([job('a', null), job('b', 'a'), job('c', 'b'), job('d', 'a', 'failed')], 20)).toEqual([
    'p.a succeeded 5.0 ms  a',
    '├─ p.b succeeded 5.0 ms  b',
    '│  └─ p.c succeeded 5.0 ms  c',
    '└─ p.d failed 5.0 ms  d',
    '4 jobs: 3 succeeded, 1 failed',
  ]);
});

test('of many siblings those that did not succeed are shown first, and the others are counted', () => {
  const many = Array.from({ length: 50_000 }, (_, i) => job(`j${i}`, 'a', i === 40_000 ? 'dead' : 'succeeded'));
  expect(drawn([job('a', null, 'running'), ...many], 3)).toEqual([
    'p.a running 5.0 ms  a',
    '├─ p.j40000 dead 5.0 ms  j40000',
    '├─ p.j0 succeeded 5.0 ms  j0',
    '├─ p.j1 succeeded 5.0 ms  j1',
    '└─ … 49997 more: 49997 succeeded, 5.0 ms to 5.0 ms',
    '50001 jobs: 1 running, 49999 succeeded, 1 dead',
  ]);
});

test('a job that failed is shown also where a hundred thousand came before it, and a run says what failed inside', () => {
  const many = Array.from({ length: 100_010 }, (_, i) => job(`j${i}`, 'a', i === 100_005 ? 'failed' : 'succeeded'));
  const run = { ...job('a', null), counts: { succeeded: 100_009, failed: 1, reused: 7, unsettled: 5 } };
  expect(drawn([run, ...many], 1, true)).toEqual([
    'p.a succeeded 5.0 ms (1 failed of 100010 inside)  a',
    '├─ p.j100005 failed 5.0 ms  j100005',
    expect.stringMatching(/^└─ … \d+ more: \d+ succeeded/),
    '100011 jobs: 100010 succeeded, 1 failed',
  ]);
});

test('a drawing has a thousand lines at most, however many parents there are, and says so', () => {
  const parents = Array.from({ length: 900 }, (_, i) => job(`p${i}`, 'a'));
  const children = parents.map(({ job_id: id }) => job(`c${id}`, id));
  const lines = drawn([job('a', null), ...parents, ...children], 1_000);
  expect(lines.length).toBe(1_002);
  expect(lines.slice(-2)).toEqual(['… the rest is not shown', '1801 jobs: 1801 succeeded']);
});

test('a tree as deep as chains can be is drawn', () => {
  const chain = Array.from({ length: 500 }, (_, i) => job(`j${i}`, i === 0 ? null : `j${i - 1}`));
  expect(drawn(chain, 20).length).toBe(501);
});

test('what failed stands before its siblings, also where it lies below one that succeeded', () => {
  const elements = ['b', 'c', 'd', 'e'].map(id => job(id, 'a'));
  const tree = [job('a', null), ...elements, job('f', 'd', 'failed'), job('g', 'e', 'dead')];
  expect(drawn(tree, 2)).toEqual([
    'p.a succeeded 5.0 ms  a',
    '├─ p.d succeeded 5.0 ms  d',
    '│  └─ p.f failed 5.0 ms  f',
    '├─ p.e succeeded 5.0 ms  e',
    '│  └─ p.g dead 5.0 ms  g',
    '└─ … 2 more: 2 succeeded, 5.0 ms to 5.0 ms',
    '7 jobs: 5 succeeded, 1 failed, 1 dead',
  ]);
  expect(drawn(tree, 20, true).slice(0, -2)).toEqual(drawn(tree, 2).slice(0, -2));
});

test('a tree says why a job failed, on one line, and not again at the run that failed with it', () => {
  const failed = (id: string, parent: string | null, error: string): TreeJob => ({
    ...job(id, parent, 'failed'),
    result: { result: null, error },
  });
  const tree = [
    failed('a', null, 'step "x": p.b failed: no paper'),
    failed('b', 'a', 'no paper\nin tray 2'),
    failed('c', 'a', 'n'.repeat(200)),
  ];
  expect(drawn(tree, 20).slice(0, -1)).toEqual([
    'p.a failed 5.0 ms  a',
    '├─ p.b failed 5.0 ms  b  no paper',
    `└─ p.c failed 5.0 ms  c  ${'n'.repeat(120)}…`,
  ]);
});

test('JSON for reading has on a line what fits there', () => {
  expect(jsonText({ name: 'Ada', tags: ['a', 'b'] })).toBe('{"name":"Ada","tags":["a","b"]}');
  const numbers = Array.from({ length: 60 }, (_, i) => i);
  const value = { numbers, rows: [{ text: 'x'.repeat(100) }, {}], none: null };
  const text = jsonText(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(text.split('\n').map(line => line.slice(0, 22))).toEqual([
    '{',
    '  "numbers": [',
    '    0, 1, 2, 3, 4, 5, ',
    '    29, 30, 31, 32, 33',
    '    55, 56, 57, 58, 59',
    '  ],',
    '  "rows": [',
    '    {',
    '      "text": "xxxxxxx',
    '    },',
    '    {}',
    '  ],',
    '  "none": null',
    '}',
  ]);
  let deep: unknown = 'x'.repeat(200);
  for (let i = 0; i < 1_000; i++) deep = [deep];
  expect(JSON.parse(jsonText(deep))).toEqual(deep);
});

function drawn(jobs: readonly TreeJob[], siblingsMax: number, failed = false): string[] {
  const tree = new JobTree();
  for (const one of jobs) tree.add(one);
  return plain(tree.lines(siblingsMax, { failed }));
}

function job(id: string, parent: string | null, status = 'succeeded'): TreeJob {
  const [started, completed] = ['2026-11-21T09:00:00.000Z', '2026-11-21T09:00:00.005Z'];
  const times = { started_at: started, completed_at: completed };
  return { job_id: id, parent_job_id: parent, status, plugin: 'p', command: id, ...times };
}

function plain(lines: readonly TerminalLine[]): string[] {
  return lines.map(line => writeLine(line, false));
}
