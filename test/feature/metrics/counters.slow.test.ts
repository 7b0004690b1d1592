// The counters of /metrics over kills, restarts and retention.
import { expect, test } from 'vitest';
import { startGateway } from '../../service/gateway/gateway.ts';
import { echo, failing } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { type Scrape, scrape } from './scrape.ts';

const settings = {
  plugins: { echo, failing },
  instances: { failing: { retry: { max_attempts: 2, backoff_base: '1ms' } } },
  pipelines: [
    {
      name: 'twice',
      steps: [
        { id: 'first', uses: 'echo' },
        { id: 'second', uses: 'echo' },
      ],
    },
  ],
  schedules: [{ id: 'often', plugin: 'echo', command: 'say', every: '1s', catch_up: 'run_all' }],
};
const names = [
  'headgate_jobs_accepted_total',
  'headgate_jobs_settled_total',
  'headgate_attempts_total',
  'headgate_job_total_seconds_count',
  'headgate_schedule_fires_total',
] as const;

/** Each series of these counters that has become less, or is gone. */
function lost(before: Scrape, after: Scrape): string[] {
  const counted = before.series.filter(({ name }) => (names as readonly string[]).includes(name));
  return counted
    .filter(({ name, labels, value }) => after.sum(name, labels) < value)
    .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`);
}

test('the counters count each job once over kills, and go on when retention has removed the jobs', async () => {
  const gateway = await startGateway(settings);
  let before: Scrape | null = null;
  let sent = 0;
  for (let cycle = 0; cycle < 3; cycle++) {
    const calls = Array.from({ length: 40 }, (_, n) =>
      n % 4 === 0 ? gateway.submit('failing/handle') : gateway.submit('echo/handle'),
    );
    await Promise.all([...calls, gateway.run('twice')]);
    sent += calls.length;
    const now = await scrape(gateway);
    if (before) expect(lost(before, now)).toEqual([]);
    before = now;
    // Some of the jobs have not ended, and the index lacks most of those that have.
    await gateway.restart();
  }
  const command = { plugin: 'echo', command: 'handle', source: 'api' };
  const counted = await until('all jobs have ended and are counted', async () => {
    const found = await scrape(gateway);
    const attempts = found.sum('headgate_attempts_total', { plugin: 'failing' });
    const isComplete =
      attempts === sent / 2 &&
      found.sum('headgate_job_total_seconds_count', { plugin: 'failing' }) === sent / 4 &&
      found.sum('headgate_run_seconds_count', { pipeline: 'twice' }) === 3 &&
      found.sum('headgate_job_total_seconds_count', { plugin: 'echo', command: 'handle' }) === (sent * 3) / 4 + 6;
    return isComplete && found;
  });
  expect(lost(before!, counted)).toEqual([]);
  expect(counted.sum('headgate_jobs_accepted_total', command)).toBe((sent * 3) / 4);
  expect(counted.sum('headgate_jobs_settled_total', { plugin: 'failing', status: 'dead' })).toBe(sent / 4);
  expect(counted.sum('headgate_attempts_total', { plugin: 'failing', outcome: 'failed' })).toBe(sent / 4);
  // An attempt that was lost in a kill is an attempt, too.
  expect(counted.sum('headgate_step_seconds_count', { pipeline: 'twice' })).toBeGreaterThanOrEqual(6);
  const { body } = await gateway.call('GET', '/jobs?plugin=echo&command=say&limit=1');
  const fired = (await scrape(gateway)).sum('headgate_schedule_fires_total', { schedule: 'often', outcome: 'fired' });
  expect(fired).toBeGreaterThanOrEqual(Number(body['total']));

  await gateway.reload({ ...settings, state: { retention: { max_jobs: 1 } } });
  await until('retention has removed most jobs', async () => {
    return Number((await gateway.call('GET', '/jobs?limit=1')).body['total']) < 10;
  });
  expect(lost(counted, await scrape(gateway))).toEqual([]);
  await gateway.restart();
  expect(lost(counted, await scrape(gateway))).toEqual([]);
});

test('a job whose deadline passed before its first attempt has ended, and had no attempt, also when retention has removed it', async () => {
  const settings = { plugins: { echo } };
  const gateway = await startGateway(settings);
  await gateway.call('POST', '/control/plugin/echo/pause');
  const { body } = await gateway.call('POST', '/plugin/echo/handle', { deadline: '1s' });
  expect(await gateway.settled(String(body['job_id']))).toMatchObject({ status: 'timed_out', attempt: 0 });
  const timedOut = async () => {
    const found = await scrape(gateway);
    return [
      found.sum('headgate_jobs_settled_total', { plugin: 'echo', status: 'timed_out' }),
      found.sum('headgate_attempts_total', { plugin: 'echo', outcome: 'timed_out' }),
    ];
  };
  expect(await timedOut()).toEqual([1, 0]);
  await gateway.restart();
  expect(await timedOut()).toEqual([1, 0]);
  await gateway.call('POST', '/control/plugin/echo/resume');
  await gateway.finished('echo/handle');
  await gateway.reload({ ...settings, state: { retention: { max_jobs: 1 } } });
  await until('retention has removed the job', async () => {
    return (await gateway.call('GET', `/job/${String(body['job_id'])}`)).status === 404;
  });
  expect(await timedOut()).toEqual([1, 0]);
});

test('a job that was cancelled while it waited for its next attempt counts only attempts that ran', async () => {
  const retry = { max_attempts: 3, backoff_base: '24h', backoff_max: '24h' };
  const gateway = await startGateway({ plugins: { failing }, instances: { failing: { retry } } });
  const id = await gateway.submit('failing/handle', {});
  await until('it has failed once', async () => (await gateway.job(id)).last_error);
  expect((await gateway.call('POST', `/job/${id}/cancel`)).status).toBe(200);
  const found = await scrape(gateway);
  const counted = ['failed', 'cancelled'].map(outcome =>
    found.sum('headgate_attempts_total', { plugin: 'failing', outcome }),
  );
  expect(counted).toEqual([1, 0]);
  expect(found.sum('headgate_jobs_settled_total', { plugin: 'failing', status: 'cancelled' })).toBe(1);
});

test('the histograms of a configured plugin get their series before those of a plugin that was removed', async () => {
  const commands = Array.from({ length: 12 }, (_, n) => `c${n}`);
  const gone = commands.map(name => `export const ${name} = () => ({});`).join('\n');
  const settings = { plugins: { gone, stays: echo }, metrics: { series_max: 300 } };
  const gateway = await startGateway(settings);
  for (const name of commands) await gateway.finished(`gone/${name}`);
  await gateway.finished('stays/handle');
  await gateway.reload({ ...settings, plugins: { stays: echo } });
  await gateway.restart();
  const found = await until('all jobs are in the histograms', async () => {
    const now = await scrape(gateway);
    return now.sum('headgate_attempt_seconds_count') === commands.length + 1 && now;
  });
  expect(found.sum('headgate_attempt_seconds_count', { plugin: 'stays' })).toBe(1);
  expect(found.sum('headgate_attempt_seconds_count', { plugin: 'other' })).toBeGreaterThan(0);
});

test('beyond metrics.series_max, names count together as other, and nothing is lost', async () => {
  const commands = Array.from({ length: 12 }, (_, n) => `c${n}`);
  const code = commands.map(name => `export const ${name} = () => ({});`).join('\n');
  const gateway = await startGateway({ plugins: { many: code }, metrics: { series_max: 100 } });
  for (const name of commands) await gateway.finished(`many/${name}`);
  const found = await until('all jobs are in the histograms', async () => {
    const now = await scrape(gateway);
    return now.sum('headgate_attempt_seconds_count') === commands.length && now;
  });
  // Each of the twelve commands has one series for acceptance and five for ends, which leaves little room for series of attempts.
  expect(found.all('headgate_jobs_accepted_total', { plugin: 'many' })).toHaveLength(commands.length);
  expect(found.sum('headgate_attempts_total', { outcome: 'succeeded' })).toBe(commands.length);
  expect(
    found.sum('headgate_attempts_total', { plugin: 'other', command: 'other', outcome: 'succeeded' }),
  ).toBeGreaterThan(5);
  expect(found.sum('headgate_attempt_seconds_count', { plugin: 'other', command: 'other' })).toBe(commands.length);
  const named = (each: Scrape) => each.all('headgate_attempts_total').map(({ labels }) => JSON.stringify(labels));
  expect(named(await scrape(gateway))).toEqual(named(found));
});
