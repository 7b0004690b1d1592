// The texts of a job: payloads, calls that are copied, and the states of the job.
import { expect, it } from 'vitest';
import { indented } from '../../../ui/core/raw-json.ts';
import { commandOf, curlOf, type ShownJob, scriptOf } from '../../../ui/screens/job/shown-job.ts';
import { statesOf } from '../../../ui/screens/job/states.ts';

const job: ShownJob = {
  job_id: '0198c0de-0000-7000-8000-000000000000',
  status: 'queued',
  plugin: 'shop',
  command: 'load',
  parent_job_id: null,
  submitted_by: 'api:local',
  attempt: 1,
  created_at: '2026-11-24T01:00:00.000000Z',
  started_at: null,
  completed_at: null,
};

it('indents JSON without changing a character of its values', () => {
  const text = '{"big":12345678901234567890,"price":1.50,"text":"a, {b}: \\"c\\"","none":{},"list":[1,[],"x"]}';
  expect(indented(text)).toBe(`{
  "big": 12345678901234567890,
  "price": 1.50,
  "text": "a, {b}: \\"c\\"",
  "none": {},
  "list": [
    1,
    [],
    "x"
  ]
}`);
});

it('writes calls that a shell takes as they are', () => {
  const payload = '{"name":"O\'Hara $HOME `x`"}';
  expect(curlOf(job, 'http://127.0.0.1:8080', payload)).toContain(`-d '{"payload":{"name":"O'\\''Hara $HOME \`x\`"}}'`);
  expect(commandOf(job, payload)).toBe(`headgate plugin run shop load --payload '{"name":"O'\\''Hara $HOME \`x\`"}'`);
  expect(scriptOf(job, 'http://127.0.0.1:8080', payload)).toContain(`body: JSON.stringify({ payload: ${payload} })`);
  expect(commandOf({ plugin: 'pipeline', command: 'import' }, undefined)).toBe('headgate pipeline run import');
});

const states = (of: Partial<ShownJob>) => {
  const { way, ends } = statesOf({ ...job, ...of });
  return [...way, ...ends].filter(({ is }) => is === 'now').map(({ name }) => name);
};

it('has one present state', () => {
  expect(states({})).toEqual(['queued']);
  expect(states({ status: 'running', started_at: '2026-11-24T01:00:01.000000Z' })).toEqual(['running']);
  const waits = { detail: '', since: '2026-11-24T01:00:02.000000Z' };
  expect(states({ run_at: '2026-11-24T02:00:00.000000Z', waits_for: { reason: 'run_at', ...waits } })).toEqual([
    'delayed',
  ]);
  expect(states({ started_at: '2026-11-24T01:00:01.000000Z', waits_for: { reason: 'retry', ...waits } })).toEqual([
    'between attempts',
  ]);
  expect(states({ status: 'dead', completed_at: '2026-11-24T01:00:01.000000Z' })).toEqual(['dead']);
});

it('says of a job in the queue of its schedule that it is queued behind another', () => {
  const waits = { reason: 'schedule_queue', detail: `the job ${job.job_id} has not ended`, since: job.created_at };
  expect(statesOf({ ...job, waits_for: waits }).way.find(({ is }) => is === 'now')).toMatchObject({
    name: 'queued',
    note: 'behind the job before it',
  });
});
