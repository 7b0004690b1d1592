// Wrong requests for actions: each response says where the mistake is, and what would be right (docs/engine.md#actions).
import { expect, test } from 'vitest';
import { shareGateway } from './gateway.ts';

const gateway = shareGateway({});
const where = { plugin: 'x' };
const id = '0198c0de-0000-7000-8000-000000000000';
const times = 'must be an RFC 3339 time, such as 2026-01-31T12:00:00Z';
const texts = { plugin: 256, command: 256, pipeline: 256, submitted_by: 256, error: 1024, query: 1024 };

/** Bodies, each with the pointer to what is wrong, and what would be right. */
const wrong: readonly (readonly [body: unknown, pointer: string, message: string])[] = [
  [undefined, 'the body', 'must be an object with "do" and "where"'],
  ...[7, null, [], true].map(body => [body, 'the body', 'must be object'] as const),
  [{}, '/do', 'is required'],
  [{ do: 'cancel' }, '/where', 'is required'],
  [{ do: 'cancel', where, when: 'now' }, '/when', 'is not a known field'],
  ...['stop', '', 7, null, ['cancel']].map(
    given => [{ do: given, where }, '/do', 'must be one of ["cancel","rerun","run_now"]'] as const,
  ),
  ...['x', 7, null, []].map(given => [{ do: 'cancel', where: given }, '/where', 'must be object'] as const),
  ...[{}, { children: true }].map(
    given =>
      [
        { do: 'cancel', where: given },
        '/where',
        'must have a filter, such as {"plugin": "mailer"}; {"all": true} matches every job',
      ] as const,
  ),
  ...[0, -1, 1_000_000_001].map(limit => [{ do: 'cancel', where, limit }, '/limit', 'must be '] as const),
  ...[1.5, '1', null, []].map(limit => [{ do: 'cancel', where, limit }, '/limit', 'must be integer'] as const),
  ...[0, 100_001].map(given => [{ do: 'cancel', where, per_second: given }, '/per_second', 'must be '] as const),
  ...[0.5, '1', null].map(
    given => [{ do: 'cancel', where, per_second: given }, '/per_second', 'must be integer'] as const,
  ),
  [{ do: 'cancel', where, reason: '' }, '/reason', 'must NOT have fewer than 1 characters'],
  [{ do: 'cancel', where, reason: 'x'.repeat(501) }, '/reason', 'must NOT have more than 500 characters'],
  ...[7, null, {}].map(reason => [{ do: 'cancel', where, reason }, '/reason', 'must be string'] as const),
  ...['yes', 1, null].map(given => [{ do: 'cancel', where, dry_run: given }, '/dry_run', 'must be boolean'] as const),
  ...['end', 7, null].map(
    from => [{ do: 'rerun', where, from }, '/from', 'must be one of ["start","failed"]'] as const,
  ),
  ...['cancel', 'run_now'].map(
    given => [{ do: given, where, from: 'failed' }, '/from', 'must be left out unless "do" is "rerun"'] as const,
  ),
  ...(
    [
      ...Object.entries(texts).flatMap(([name, most]) => [
        [{ [name]: 7 }, name, 'must be string'] as const,
        [{ [name]: null }, name, 'must be string'] as const,
        [{ [name]: 'x'.repeat(most + 1) }, name, `must NOT have more than ${most} characters`] as const,
      ]),
      ...['error', 'query'].map(name => [{ [name]: '!!' }, name, 'must have at least one word to search for'] as const),
      ...['job_id', 'root', 'parent'].flatMap(name =>
        ['x', '', `${id}0`].map(given => [{ [name]: given }, name, 'must be the id of a job'] as const),
      ),
      [{ run: 'x', children: true }, 'run', 'must be the id of a job'],
      ...['job_id', 'run', 'root', 'parent', 'from', 'to', 'status'].map(
        name => [{ [name]: 7 }, name, 'must be '] as const,
      ),
      ...['from', 'to'].flatMap(name =>
        ['yesterday', '2026-02-30', '1h'].map(given => [{ [name]: given }, name, times] as const),
      ),
      [{ status: 'waiting' }, 'status', 'must be one of ["queued"'],
      [{ run: id }, 'children', 'must be true with "run": jobs inside a run match only then'],
      [{ ...where, children: 'yes' }, 'children', 'must be boolean'],
      [{ all: false }, 'all', 'must be true'],
      [{ plugins: 'x' }, 'plugins', 'is not a known field'],
    ] as const
  ).map(([given, name, message]) => [{ do: 'cancel', where: given }, `/where/${name}`, message] as const),
];

test.each(wrong)('a body %j is told what would be right', async (body, pointer, message) => {
  const answer = await gateway.call('POST', '/actions', body);
  expect([answer.status, answer.body['code']]).toEqual([400, expect.stringMatching(/^invalid_/)]);
  expect(answer.body['detail']).toContain(`${pointer} ${message}`);
});

test.each([
  ['limit=0', 'limit'],
  ['limit=201', 'limit'],
  ['limit=x', 'limit'],
  ['cursor=x', 'cursor'],
  ['state=running', 'state'],
])('the list refuses ?%s', async (query, name) => {
  const { status, body } = await gateway.call('GET', `/actions?${query}`);
  expect([status, body['detail']]).toEqual([400, expect.stringContaining(name)]);
});
