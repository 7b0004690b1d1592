// The filters of the list of jobs: in the URL, and in the `where` of actions.
import { expect, test } from 'vitest';
import { filtersOf, whereOf } from '../../../ui/screens/jobs/filters.ts';

test('a URL has the filters of GET /jobs; other parameters are none', () => {
  const query = new URLSearchParams('status=failed&plugin=mailer&error=&panel=open&rerun_of=x');
  expect(filtersOf(query)).toEqual({ status: 'failed', plugin: 'mailer', rerun_of: 'x' });
});

test('an action matches the same jobs: the times of acceptance have another name there', () => {
  const from = '2026-11-24T02:00:00Z';
  expect(whereOf({ plugin: 'mailer', from }, false)).toEqual({ plugin: 'mailer', created_from: from });
});

test('without a filter an action must say that it matches every job', () => {
  expect(whereOf({}, false)).toEqual({ all: true });
});

test('jobs inside runs match if they are wanted, and always with the filter of a run', () => {
  expect(whereOf({ tag: 'tenant:acme' }, true)).toEqual({ tag: 'tenant:acme', children: true });
  expect(whereOf({ run: 'x' }, false)).toEqual({ run: 'x', children: true });
});
