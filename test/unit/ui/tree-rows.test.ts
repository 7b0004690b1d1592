// The rows of a tree whose branches are read when they are opened.
import { expect, it } from 'vitest';
import {
  emptyTree,
  parentRow,
  type TreeChild,
  type TreeRow,
  toggled,
  treeRows,
  withPage,
} from '../../../ui/screens/run/tree-rows.ts';

const child = (id: string): TreeChild => ({
  job_id: id,
  plugin: 'shop',
  command: 'load',
  status: 'succeeded',
  created_at: '2026-11-24T01:00:00Z',
  started_at: null,
  completed_at: null,
  attempt: 1,
});

const names = (rows: readonly TreeRow[]) =>
  rows.map(row => (row.kind === 'job' ? `${row.level} ${row.job.job_id}` : `${row.level} more ${row.left}`));

it('waits for the first page', () => {
  expect(names(treeRows(emptyTree, 'run'))).toEqual(['1 more 0']);
});

it('has the oldest job first if all of a branch came in one page', () => {
  const state = withPage(emptyTree, 'run', { jobs: [child('c'), child('b'), child('a')], total: 3 });
  expect(names(treeRows(state, 'run'))).toEqual(['1 a', '1 b', '1 c']);
});

it('keeps the order of the pages of a long branch, and says how many are missing', () => {
  const first = withPage(emptyTree, 'run', { jobs: [child('d'), child('c')], total: 4, next_cursor: 'x' });
  expect(names(treeRows(first, 'run'))).toEqual(['1 d', '1 c', '1 more 2']);
  const second = withPage(first, 'run', { jobs: [child('b'), child('a')], total: 4 });
  expect(names(treeRows(second, 'run'))).toEqual(['1 d', '1 c', '1 b', '1 a']);
});

it('shows the children of open jobs only', () => {
  const state = withPage(withPage(emptyTree, 'run', { jobs: [child('b'), child('a')], total: 2 }), 'a', {
    jobs: [child('a2'), child('a1')],
    total: 2,
  });
  expect(names(treeRows(state, 'run'))).toEqual(['1 a', '1 b']);
  const open = treeRows(toggled(state, 'a'), 'run');
  expect(names(open)).toEqual(['1 a', '2 a1', '2 a2', '1 b']);
  expect(parentRow(open, 2)).toBe(0);
  expect(parentRow(open, 3)).toBe(-1);
});
