// GET /metrics through HTTP: what it shows, in both formats; Debian's promtool; the shipped dashboard and alerts against a real scrape.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { stopwatchName } from '../../../actors/index/records/stopwatch.ts';
import { openIndexStore } from '../../../runtime/store/index-store.ts';
import { startClocked } from '../../service/gateway/clock.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { echo, failing, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { send, sign } from '../webhooks/sender.ts';
import { hasPromtool, promtool, Scrape, scrape } from './scrape.ts';

const key = 'a-key-for-metrics-of-webhooks';
const openMetrics = { Accept: 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2' };
const gateway = shareGateway({
  plugins: {
    echo,
    failing,
    refusing: echo,
    late: echo,
    narrow: worker,
    deadly: "export const handle = () => process.kill(process.pid, 'SIGKILL');",
  },
  instances: { deadly: { retry: { max_attempts: 1 } }, narrow: { parallelism: 1 } },
  pipelines: [
    {
      name: 'twice',
      steps: [
        { id: 'first', uses: 'echo' },
        { id: 'second', uses: 'echo' },
      ],
    },
  ],
  schedules: [
    { id: 'often', plugin: 'echo', every: '1s' },
    { id: 'rare', plugin: 'echo', at: '2999-01-01T00:00:00Z' },
  ],
  webhooks: {
    endpoints: [
      { name: 'hook', path: '/webhook/hook', plugin: 'echo', secret_ref: 'k', signature_header: 'X-Signature' },
    ],
  },
  tokens: [{ name: 'k', key }],
  metrics: { listen: '127.0.0.1:0' },
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'scraper', token: 'token-of-the-scraper', scopes: ['metrics:ro'] },
      ],
    },
  },
});

/** The families that every panel and alert may need, after some work of each kind. */
let worked: Scrape;
const jobs: string[] = [];
beforeAll(async () => {
  for (let n = 0; n < 3; n++) jobs.push((await gateway.finished('echo/say')).job_id);
  await gateway.finished('failing/handle', { retry: false });
  await gateway.ran('twice');
  await send(gateway, '/webhook/hook', '{}', { 'X-Signature': sign(key, '{}') });
  await send(gateway, '/webhook/hook', '{}', { 'X-Signature': sign('a-wrong-key-of-webhooks', '{}') });
  await gateway.call('POST', '/control/plugin/refusing/pause', { reject: true });
  expect((await gateway.call('POST', '/plugin/refusing/handle', { payload: {} })).status).toBe(503);
  await gateway.call('POST', '/system/reload');
  await hearOfGap();
  await gateway.finished('deadly/handle');
  worked = await until('everything has been counted', async () => {
    const found = await scrape(gateway);
    const isCounted =
      found.sum('headgate_job_total_seconds_count', { plugin: 'echo', command: 'say' }) >= 3 &&
      found.sum('headgate_run_seconds_count') > 0 &&
      found.sum('headgate_schedule_fires_total', { schedule: 'often', outcome: 'fired' }) > 0 &&
      found.names.has('headgate_lane_queued_jobs') &&
      found.names.has('headgate_workers') &&
      found.names.has('headgate_host_restarts_total') &&
      found.names.has('headgate_sse_gaps_total') &&
      // A scrape waits only briefly for the disk.
      found.names.has('headgate_store_size_bytes');
    return isCounted && found;
  });
});

test('counts say what became of jobs, by plugin, command and source', () => {
  const say = { plugin: 'echo', command: 'say' };
  expect(worked.sum('headgate_jobs_accepted_total', { ...say, source: 'api' })).toBe(3);
  expect(worked.sum('headgate_jobs_settled_total', { ...say, status: 'succeeded' })).toBe(3);
  expect(worked.sum('headgate_attempts_total', { plugin: 'failing', outcome: 'failed' })).toBe(1);
  expect(worked.sum('headgate_jobs_accepted_total', { plugin: 'echo', source: 'step' })).toBe(2);
  expect(worked.sum('headgate_jobs_accepted_total', { plugin: 'echo', source: 'webhook' })).toBe(1);
  expect(worked.sum('headgate_jobs_accepted_total', { plugin: 'echo', source: 'schedule' })).toBeGreaterThan(0);
  expect(worked.sum('headgate_jobs_settled_total', { plugin: 'pipeline', command: 'twice' })).toBe(1);
  expect(worked.sum('headgate_webhook_deliveries_total', { endpoint: 'hook', code: '202' })).toBe(1);
  expect(worked.sum('headgate_webhook_deliveries_total', { endpoint: 'hook', code: '403' })).toBe(1);
  expect(worked.sum('headgate_http_requests_total', { route: '/plugin/{plugin}/{command}', code: '202' })).toBe(5);
  expect(worked.sum('headgate_step_seconds_count', { pipeline: 'twice' })).toBe(2);
  expect(worked.sum('headgate_run_seconds_count', { pipeline: 'twice', status: 'succeeded' })).toBe(1);
  expect(worked.all('headgate_up').map(({ labels, value }) => [labels['part'], value])).toEqual([
    ['ledger', 1],
    ['reads', 1],
    ['indexer', 1],
  ]);
});

test('an outcome of a schedule that alerts ask for is shown before its first event, as 0', () => {
  const shown = worked.all('headgate_schedule_fires_total', { schedule: 'rare' });
  expect(shown.map(({ labels, value }) => [labels['outcome'], value])).toEqual(
    ['fired', 'queue_full', 'missed', 'refused'].map(outcome => [outcome, 0]),
  );
});

test('the time in the queue of a delayed job counts from when it could run, its whole time from the acceptance', async () => {
  const { body } = await gateway.call('POST', '/plugin/late/say', { delay: '2s' });
  const job = await gateway.settled(String(body['job_id']));
  expect(job.status).toBe('succeeded');
  const { run_at: runAt } = job as unknown as { readonly run_at: string };
  const late = { plugin: 'late', command: 'say' };
  const found = await until('it has been counted', async () => {
    const found = await scrape(gateway);
    return found.sum('headgate_job_queue_seconds_count', late) === 1 && found;
  });
  const seconds = (from: string, to: string) => (microseconds(to) - microseconds(from)) / 1e6;
  expect(found.sum('headgate_job_queue_seconds_sum', late)).toBeCloseTo(seconds(runAt, job.started_at!), 5);
  const total = seconds(job.created_at, job.completed_at!);
  expect(total).toBeGreaterThanOrEqual(2);
  expect(found.sum('headgate_job_total_seconds_sum', late)).toBeCloseTo(total, 5);
});

test('the age of the oldest queued job counts from its time to run, and from the end of a pause', async () => {
  const age = (isWanted: (seconds: number) => boolean) =>
    until('the age is reported', async () => {
      const found = await scrape(gateway);
      const seconds = found.sum('headgate_lane_oldest_queued_seconds', { plugin: 'narrow' });
      return found.sum('headgate_lane_queued_jobs', { plugin: 'narrow' }) === 1 && isWanted(seconds) && { seconds };
    });
  onTestFinished(() => gateway.open('narrow'));
  await gateway.noted('start', await gateway.submit('narrow/handle', { gate: 'narrow' }));
  const { body } = await gateway.call('POST', '/plugin/narrow/handle', { payload: {}, delay: '3s' });
  const { body: delayed } = await gateway.call('GET', `/job/${body['job_id']}`);
  /** The most that the age can be now. Had it begun with the acceptance, or with the time to run, it would be more by seconds. */
  const since = (ms: number) => (Date.now() - ms) / 1000 + 0.5;
  const due = await age(() => true);
  expect(due.seconds).toBeLessThan(since(Date.parse(String(delayed['run_at']))));
  await age(seconds => seconds > 2);
  await gateway.call('POST', '/control/plugin/narrow/pause', {});
  await age(seconds => seconds === 0);
  const resumedMs = Date.now();
  await gateway.call('POST', '/control/plugin/narrow/resume');
  const resumed = await age(seconds => seconds > 0);
  expect(resumed.seconds).toBeLessThan(since(resumedMs));
});

test('a run that was cancelled before it began has no time', async () => {
  const { body } = await gateway.call('POST', '/pipeline/twice?async=true', { delay: '1h' });
  const run = String(body['job_id']);
  expect((await gateway.call('POST', `/job/${run}/cancel`)).status).toBe(200);
  expect(await gateway.settled(run)).toMatchObject({ status: 'cancelled' });
  const others = { plugin: 'failing', command: 'handle' };
  const before = (await scrape(gateway)).sum('headgate_job_total_seconds_count', others);
  await gateway.finished('failing/handle', { retry: false });
  const found = await until('a later job has been counted', async () => {
    const found = await scrape(gateway);
    return found.sum('headgate_job_total_seconds_count', others) > before && found;
  });
  expect(found.sum('headgate_run_seconds_count', { pipeline: 'twice', status: 'cancelled' })).toBe(0);
});

const command = ['plugin', 'command'];
/** The labels of the series of each family, without the `le` of buckets. */
const labelsOf: { readonly [family: string]: readonly string[] } = {
  headgate_build_info: ['version', 'node', 'format', 'store'],
  headgate_config_reloads_total: ['outcome'],
  headgate_start_time_seconds: [],
  headgate_up: ['part'],
  headgate_source_age_seconds: ['source'],
  headgate_jobs_accepted_total: [...command, 'source'],
  headgate_jobs_settled_total: [...command, 'status'],
  headgate_attempts_total: [...command, 'outcome'],
  headgate_jobs_refused_total: ['reason'],
  headgate_jobs: ['state'],
  headgate_runs_open: [],
  headgate_lane_queued_jobs: ['plugin'],
  headgate_lane_running_jobs: ['plugin'],
  headgate_lane_oldest_queued_seconds: ['plugin'],
  headgate_job_queue_seconds: command,
  headgate_attempt_seconds: command,
  headgate_job_total_seconds: command,
  headgate_run_seconds: ['pipeline', 'status'],
  headgate_step_seconds: ['pipeline', 'step'],
  headgate_commit_seconds: [],
  headgate_commit_jobs: [],
  headgate_store_size_bytes: ['env'],
  headgate_disk_free_bytes: [],
  headgate_index_lag_seconds: [],
  headgate_backups_total: ['outcome'],
  headgate_backup_timestamp_seconds: [],
  headgate_schedule_fires_total: ['schedule', 'outcome'],
  headgate_schedule_lateness_seconds: ['schedule'],
  headgate_pauses: ['kind'],
  headgate_http_requests_total: ['route', 'method', 'code'],
  headgate_http_request_seconds: ['route', 'method'],
  headgate_sse_streams: [],
  headgate_sse_gaps_total: ['reason'],
  headgate_webhook_deliveries_total: ['endpoint', 'code'],
  headgate_workers: ['kind'],
  headgate_workers_busy_ratio: [],
  headgate_host_restarts_total: ['host'],
  headgate_event_loop_delay_seconds: ['thread'],
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  process_start_time_seconds: [],
};

test('a scrape has these families with these labels, and docs/metrics.md describes each of them', () => {
  const found = [...worked.types.keys()].map(family => {
    const own = new Set([family, ...['bucket', 'sum', 'count'].map(part => `${family}_${part}`)]);
    const labels = worked.series.filter(({ name }) => own.has(name)).flatMap(each => Object.keys(each.labels));
    return [family, [...new Set(labels)].filter(label => label !== 'le')];
  });
  expect(Object.fromEntries(found)).toEqual(labelsOf);
  const docs = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
  const described = [...docs.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, names]) => names!.match(/\w+/g)!);
  expect(described.sort()).toEqual(Object.keys(labelsOf).sort());
});

test('the delay of the event loop is measured on each thread', () => {
  const found = worked.all('headgate_event_loop_delay_seconds').map(({ labels: { thread }, value }) => [thread, value]);
  expect(found).toEqual(['main', 'ledger', 'reads', 'indexer'].map(thread => [thread, expect.any(Number)]));
  expect(found.every(([, value]) => Number(value) >= 0)).toBe(true);
});

test('a histogram has 18 limits and one bucket without, which counts all; its sum is that of the jobs', async () => {
  const labels = { plugin: 'echo', command: 'say' };
  const buckets = worked.all('headgate_attempt_seconds_bucket', labels);
  expect(buckets.map(({ labels: { le } }) => le).at(-1)).toBe('+Inf');
  expect(buckets).toHaveLength(19);
  const counts = buckets.map(({ value }) => value);
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(counts.at(-1)).toBe(worked.sum('headgate_attempt_seconds_count', labels));
  const seconds = (await Promise.all(jobs.map(id => gateway.job(id)))).map(
    ({ started_at: from, completed_at: to }) => (microseconds(to!) - microseconds(from!)) / 1e6,
  );
  expect(worked.sum('headgate_attempt_seconds_sum', labels)).toBeCloseTo(
    seconds.reduce((sum, each) => sum + each, 0),
    5,
  );
});

test('a caller that prefers OpenMetrics gets it, with a job of each bucket that is not empty', async () => {
  const { headers, body } = await gateway.call('GET', '/metrics', undefined, { headers: openMetrics });
  expect(headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
  const found = new Scrape(String(body['text']));
  expect(found.text.endsWith('\n# EOF\n')).toBe(true);
  expect(found.types.get('headgate_jobs_accepted')).toBe('counter');
  const examples = found
    .all('headgate_job_total_seconds_bucket', { plugin: 'echo', command: 'say' })
    .flatMap(({ exemplar }) => (exemplar === null ? [] : [exemplar]));
  expect(examples.length).toBeGreaterThan(0);
  for (const { jobId, value } of examples) {
    expect(jobs).toContain(jobId);
    const { created_at: from, completed_at: to } = await gateway.job(jobId);
    expect(value).toBeCloseTo((microseconds(to!) - microseconds(from)) / 1e6, 5);
  }
});

test('any other caller gets the format of Prometheus, without exemplars', async () => {
  const { headers, body } = await gateway.call('GET', '/metrics');
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const found = new Scrape(String(body['text']));
  expect(found.types.get('headgate_jobs_accepted_total')).toBe('counter');
  expect(found.series.every(({ exemplar }) => exemplar === null)).toBe(true);
});

test('each counter and each histogram says whether it goes on after a restart', () => {
  const counting = [...worked.types].filter(([, type]) => type !== 'gauge').map(([name]) => name);
  expect(counting.length).toBeGreaterThan(12);
  const silent = counting.filter(
    name => !/Continues after a restart|Begins at 0 at each start/.test(worked.help.get(name)!),
  );
  expect(silent).toEqual([]);
});

test('the scope metrics:ro is enough for /metrics, and for nothing else', async () => {
  const token = 'token-of-the-scraper';
  expect((await gateway.call('GET', '/metrics', undefined, { token })).status).toBe(200);
  expect((await gateway.call('GET', '/jobs', undefined, { token })).status).toBe(403);
  expect((await gateway.call('GET', '/metrics', undefined, { token: null })).status).toBe(401);
});

test('metrics.listen serves the metrics without a token, and nothing else', async () => {
  const url = String(gateway.log.find(({ msg }) => msg === 'ready')!['metrics']);
  const answer = await fetch(`${url}/metrics`);
  expect(answer.status).toBe(200);
  expect(new Scrape(await answer.text()).sum('headgate_up', { part: 'ledger' })).toBe(1);
  expect((await fetch(`${url}/jobs`)).status).toBe(404);
  expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
});

test('while the ledger cannot commit, a scrape is answered, and says how old its figures are', async () => {
  const lock = join(gateway.directory, 'data', 'gate.lock');
  // The ledger waits with each commit while another process has this lock.
  const holder = spawn('flock', ['--exclusive', lock, 'sh', '-c', 'echo held; cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  const waiting = gateway.call('POST', '/plugin/echo/say', { payload: {} });
  const found = await until('the figures grow old', async () => {
    const now = await scrape(gateway);
    return now.sum('headgate_source_age_seconds', { source: 'ledger' }) > 2 && now;
  });
  expect(found.sum('headgate_jobs_accepted_total', { plugin: 'echo', command: 'say' })).toBe(3);
  holder.stdin.end();
  expect((await waiting).status).toBe(202);
  await until('the figures are young again', async () => {
    return (await scrape(gateway)).sum('headgate_source_age_seconds', { source: 'ledger' }) < 2;
  });
});

test('while a record of the index is unusable, the families that do not need the index are shown', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  await gateway.finished('echo/handle');
  await gateway.term();
  const index = openIndexStore(join(gateway.directory, 'data'), reason => {
    throw new Error(reason);
  });
  const batch = index.batch();
  batch.put('positions', Buffer.from(stopwatchName), Buffer.alloc(3));
  index.commit(batch);
  index.close();
  await gateway.start();
  const found = await scrape(gateway);
  expect(found.sum('headgate_up', { part: 'indexer' })).toBe(0);
  expect(found.sum('headgate_jobs_settled_total', { plugin: 'echo', status: 'succeeded' })).toBe(1);
  expect(found.all('headgate_index_lag_seconds')).toEqual([]);
});

test('the time of the start does not follow the clock', async () => {
  const { gateway, clock } = await startClocked('2099-06-01T00:00:00Z', {});
  const startedAt = async () => (await scrape(gateway)).sum('process_start_time_seconds');
  const first = await startedAt();
  expect(first).toBeGreaterThan(1.7e9);
  clock.set('2099-06-01T05:00:00Z');
  expect(await startedAt()).toBe(first);
});

test.skipIf(!hasPromtool)('promtool has nothing to say about the metrics', () => {
  expect(promtool(['check', 'metrics'], worked.text)).toBe('');
});

const file = (name: string): string => fileURLToPath(new URL(`../../../dashboards/${name}`, import.meta.url));

type Panel = { readonly title: string; readonly targets: readonly { readonly expr: string }[] };

test('each metric of a panel and of an alert is in a real scrape, with the labels that are asked for', async () => {
  const { panels } = JSON.parse(readFileSync(file('grafana.json'), 'utf8')) as { panels: readonly Panel[] };
  expect(panels).toHaveLength(12);
  const alerts = readFileSync(file('alerts.yaml'), 'utf8').replaceAll(/^ *#.*$/gm, '');
  const rules = [...alerts.matchAll(/expr: ([\s\S]*?)(?=\n {8}\w+:)/g)].map(([, expr]) => expr!);
  expect(rules.length).toBeGreaterThanOrEqual(7);
  const queries = [...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)), ...rules];
  for (const query of queries) {
    const names: readonly string[] = query.match(/headgate_\w+/g) ?? [];
    expect(names.length, query).toBeGreaterThan(0);
    expect(
      names.filter(name => !worked.names.has(name)),
      query,
    ).toEqual([]);
    const [, by = ''] = /by \(([^)]*)\)/.exec(query) ?? [];
    const labels = new Set(
      worked.series.filter(({ name }) => names.includes(name)).flatMap(s => Object.keys(s.labels)),
    );
    const lacking = by.split(/, */).filter(label => !['', 'instance'].includes(label) && !labels.has(label));
    expect(lacking, query).toEqual([]);
  }
});

/** Reads events from an id that the service has not given, until the event `gap` arrives. */
async function hearOfGap(): Promise<void> {
  const stop = new AbortController();
  const headers = { Authorization: `Bearer ${everythingToken}`, 'Last-Event-ID': '999999999' };
  const { body } = await fetch(`${gateway.url}/events`, { headers, signal: stop.signal });
  let heard = '';
  for await (const chunk of body!) {
    heard += Buffer.from(chunk).toString();
    if (heard.includes('event: gap')) break;
  }
  stop.abort();
}

function microseconds(text: string): number {
  const [, seconds, fraction] = /^(.*)\.(\d{6})Z$/.exec(text)!;
  return Date.parse(`${seconds}Z`) * 1000 + Number(fraction);
}
