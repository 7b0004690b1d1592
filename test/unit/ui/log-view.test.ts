// The line of a log in the list.
import { expect, it } from 'vitest';
import { excerptOf } from '../../../ui/screens/logs/excerpt.ts';
import { type LogView, logLine } from '../../../ui/screens/logs/log-view.ts';

const log: LogView = {
  job_id: '0198c0de-0000-7000-8000-000000000000',
  log_id: '1',
  plugin: 'shop',
  command: 'load',
  status: 'failed',
  attempt: 1,
  submitted_by: 'api:local',
  created_at: '2026-11-24T01:00:00.000000Z',
  completed_at: '2026-11-24T01:00:01.000000Z',
};

it('is the error before the error output', () => {
  expect(logLine({ ...log, last_error: 'no such host', stderr: 'trying 1\ntrying 2' }, '')).toBe('no such host');
  expect(logLine({ ...log, stderr: 'trying 1\n  trying 2\n' }, '')).toBe('trying 1 trying 2');
  expect(logLine(log, '')).toBeNull();
});

it('is the text that has the words of the search', () => {
  const both = { ...log, last_error: 'no such host', stderr: 'the connection was refused' };
  expect(logLine(both, 'conn*')).toBe('the connection was refused');
  expect(logLine(both, 'absent')).toBe('no such host');
});

it('is the part of a long text that has the first of the words', () => {
  const text = `${'x '.repeat(500)}connection refused ${'y '.repeat(500)}`;
  const line = excerptOf(text, 'refused');
  expect(line).toMatch(/^…(x )+connection refused y/);
  expect(line.length).toBeLessThanOrEqual(401);
  expect(excerptOf(text, '')).toMatch(/^x x/);
});
