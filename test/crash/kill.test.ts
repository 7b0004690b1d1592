// kill -9 at random moments, many times: what was answered with 202 is there, ends once, and never runs twice at once.
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Job, startGateway } from '../gateway/gateway.ts';
import { type Accepted, Clients } from './clients.ts';
import { type Line, readLines, wrongs } from './journal.ts';
import { pipelines, plugins, retry } from './plugins.ts';
import { seededRandom } from './random.ts';

const cycles = 50;
const clientCount = 8;

test(`${cycles} kills lose nothing, double nothing and change no end`, { timeout: 150_000 }, async () => {
  const random = seededRandom();
  console.log(`seed of the kills: TEST_SEED=${random.seed}`);
  const instances = { working: { retry }, adding: { retry }, program: { retry } };
  const gateway = await startGateway({ plugins, pipelines, instances, service: { log_level: 'warn' } });
  const journal = join(gateway.directory, 'journal');
  const mark = (what: Line['what'], job: string) =>
    appendFileSync(journal, `${JSON.stringify({ job, attempt: 0, run: 'test', what })}\n`);

  /** Ends as they were first read: nothing of them may change. */
  const ends = new Map<string, string>();
  const changed: string[] = [];
  const onSeen = (job: Job): void => {
    const text = JSON.stringify(job);
    const known = ends.get(job.job_id);
    if (known === undefined) mark('seen', job.job_id);
    else if (known !== text) changed.push(`${known} became ${text}`);
    ends.set(job.job_id, known ?? text);
  };

  const clients = new Clients(gateway, random, onSeen);
  for (let cycle = 0; cycle < cycles; cycle++) {
    const gone = clients.callUntilGone(clientCount);
    await clients.acknowledged(random.between(1, 10));
    await clients.acknowledged(random.between(0, 60));
    await gateway.kill9();
    mark('kill', '');
    await gone;
    await gateway.start();
  }

  const { accepted } = clients;
  console.log(`${accepted.length} jobs and runs were accepted, ${ends.size} ends read before the last kill`);
  const wrongResults: unknown[] = [];
  for (const each of accepted) {
    const job = await gateway.settled(each.id, 30_000);
    onSeen(job);
    const wrong = wrongOf(each, job, await gateway.tree(each.id));
    if (wrong !== null) wrongResults.push({ ...each, job, wrong });
  }
  expect(wrongResults).toEqual([]);
  expect(changed).toEqual([]);
  expect(wrongs(readLines(readFileSync(journal, 'utf8')))).toEqual([]);
  expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ queue_depth: 0 });
});

/** What is wrong with how a job ended, and with its children; null when nothing is. */
function wrongOf({ kind, values }: Accepted, job: Job, tree: readonly Job[]): string | null {
  if (job.status !== 'succeeded') return `it is ${job.status}: ${job.last_error}`;
  const result = job.result?.result as { [key: string]: unknown };
  if (kind === 'program') return null;
  if (kind === 'direct') return result['value'] === values[0] ? null : 'another result';
  const children = tree.filter(({ plugin }) => plugin === 'working' || plugin === 'adding');
  const expected = values.length + (kind === 'outer' ? 2 : 1);
  if (children.length !== expected) return `${children.length} children instead of ${expected}`;
  const unsettled = tree.find(({ status }) => status !== 'succeeded');
  if (unsettled) return `its child ${unsettled.job_id} is ${unsettled.status}`;
  const right = {
    sum: values.reduce((total, value) => total + value, 0),
    succeeded: values.length,
    failed: 0,
    indexes: values.map((_, index) => index),
  };
  return JSON.stringify(result) === JSON.stringify(right) ? null : `it is not ${JSON.stringify(right)}`;
}
