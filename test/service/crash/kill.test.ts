// kill -9 of the service and of its hosts at random moments, with reloads between, many times: each job that was answered with 202 exists,
// ends once, and never runs twice at the same time.
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { VaultGateway } from '../../feature/vault/service.ts';
import { countOf } from '../../support/deep.ts';
import { canary } from '../canary/canary.ts';
import { childrenOf } from '../canary/processes.ts';
import { Gateway, type Job, startGateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { type Accepted, Clients } from './clients.ts';
import { type Line, readLines, wrongs } from './journal.ts';
import { pipelines, plugins, retry, secretName, webhookKey, webhooks } from './plugins.ts';
import { seededRandom } from './random.ts';

const cycles = countOf({ deep: 200, quick: 10 });
const clientCount = 6;
const acceptedPerCycle = 16;
/** Bytes of the journal, some hundred a job. */
const writtenMax = 2_000;
/** Between two kills, more jobs are accepted than end. So after this many cycles the service may live until all jobs have ended. */
const cyclesToRest = 50;
const restMsMax = 600_000;
const readersMax = 8;

test(`${cycles} kills lose nothing, double nothing and change no end`, { timeout: 7_200_000 }, async () => {
  const random = seededRandom();
  console.log(`seed of the kills: TEST_SEED=${random.seed}`);
  const names = ['working', 'adding', 'counting', 'keeping', 'program'];
  const instances = Object.fromEntries(
    names.map(name => [name, { retry, ...(name === 'counting' && { parallelism: 1 }) }]),
  );
  const tokens = [{ name: 'kept', key: webhookKey }];
  const settings = { plugins, pipelines, instances, webhooks, tokens, service: { log_level: 'info' } };
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  const vault = new VaultGateway(gateway);
  await gateway.start();
  await vault.do('principal', { name: 'keeping', kind: 'plugin' });
  await vault.do('secret', { name: secretName, value: canary(secretName), authorized_principals: ['keeping'] });
  const journal = join(gateway.directory, 'journal');
  const mark = (what: Line['what'], job: string) =>
    appendFileSync(journal, `${JSON.stringify({ job, attempt: 0, service: gateway.pid, run: 'test', what })}\n`);

  mark('service', '');

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

  const isIdle = async () => (await gateway.call('GET', '/healthz')).body['queue_depth'] === 0;
  const clients = new Clients(gateway, random, onSeen);
  const startedMs = performance.now();
  for (let cycle = 0; cycle < cycles; cycle++) {
    // Measured before the calls: their jobs write at least this much, even if they have ended before the wait below begins.
    const written = statSync(journal).size + random.between(1, writtenMax);
    const gone = clients.callUntilGone(clientCount, acceptedPerCycle);
    await clients.acknowledged(random.between(1, acceptedPerCycle));
    // Two of three die while plugins are at work, the others soon after they came up.
    if (random.between(1, 3) > 1) await until('plugins are at work', () => statSync(journal).size >= written);
    if (random.between(1, 3) === 1) gateway.signal('SIGHUP');
    if (random.between(1, 3) === 1) {
      mark('hosts', '');
      for (const host of childrenOf(gateway.pid)) killIfAlive(host);
      mark('hosts', '');
      if (random.between(1, 2) === 1) await until('work goes on', () => statSync(journal).size >= written);
    }
    await gateway.kill9();
    await gone;
    await gateway.start();
    mark('service', '');
    if (cycle % cyclesToRest === cyclesToRest - 1) await until('all that was accepted has ended', isIdle, restMsMax);
  }
  await until('all that was accepted has ended', isIdle, restMsMax);

  const { accepted } = clients;
  const killedMs = Math.round(performance.now() - startedMs);
  console.log(`${accepted.length} jobs and runs accepted, ${ends.size} ends read in ${killedMs} ms of kills`);
  const wrongResults: unknown[] = [];
  const unread = [...accepted];
  const read = async (): Promise<void> => {
    for (let each = unread.shift(); each; each = unread.shift()) {
      const job = await gateway.settled(each.id);
      onSeen(job);
      const wrong = wrongOf(each, job, each.kind === 'fan' || each.kind === 'outer' ? await gateway.tree(each.id) : []);
      if (wrong !== null) wrongResults.push({ ...each, job, wrong });
    }
  };
  await Promise.all(Array.from({ length: readersMax }, read));
  expect(wrongResults).toEqual([]);
  // The plugin has counted each job once, also jobs whose 202 was lost; so counts may have gaps, but none occurs twice.
  const counted = accepted.filter(({ kind }) => kind === 'counting').map(({ id }) => countIn(ends.get(id)!));
  const { body } = await gateway.call('GET', '/jobs?plugin=counting&limit=1');
  expect(counted.toSorted((a, b) => a - b)).toEqual([...new Set(counted)].sort((a, b) => a - b));
  expect(Math.max(0, ...counted)).toBeLessThanOrEqual(Number(body['total']));
  expect(changed).toEqual([]);
  expect(wrongs(readLines(readFileSync(journal, 'utf8')))).toEqual([]);
  expect((await gateway.call('GET', '/healthz')).body).toMatchObject({ queue_depth: 0 });
});

test('jobs that run long end with the service that is killed, before they begin again', async () => {
  const gateway = await startGateway({ plugins, service: { max_workers: 3 } });
  const journal = join(gateway.directory, 'journal');
  // The first attempts are killed long before they would end, also on a busy machine.
  const waits = { wait: 200, firstWait: 60_000 };
  const jobs = [
    await gateway.submit('working/handle', waits),
    await gateway.submit('blocking/handle', waits),
    await gateway.submit('program/handle', { long: true }),
  ];
  for (const job of jobs) await gateway.noted('breath', job);
  await gateway.restart();
  for (const job of jobs) expect(await gateway.settled(job)).toMatchObject({ status: 'succeeded', attempt: 2 });
  const lines = readLines(readFileSync(journal, 'utf8'));
  expect(
    lines
      .filter(({ what }) => what === 'start')
      .map(({ job }) => job)
      .sort(),
  ).toEqual([...jobs, ...jobs].sort());
  expect(wrongs(lines)).toEqual([]);
});

/** Hosts of the configuration before a reload end by themselves. */
function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The count in the result of a counting job. */
function countIn(end: string): number {
  return ((JSON.parse(end) as Job).result!.result as { readonly count: number }).count;
}

/** What is wrong with how a job ended, and with its children; null when nothing is. */
function wrongOf({ kind, values }: Accepted, job: Job, tree: readonly Job[]): string | null {
  if (job.status !== 'succeeded') return `it is ${job.status}: ${job.last_error}`;
  const result = job.result?.result as { [key: string]: unknown };
  if (kind === 'program' || kind === 'counting') return null;
  if (kind === 'webhook') {
    const right = { secrets: [secretName], value: values[0] };
    return JSON.stringify(result) === JSON.stringify(right) ? null : 'another delivery, or no secret';
  }
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
