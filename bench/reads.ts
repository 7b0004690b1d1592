// Bench: how much each kind of read delays other requests. Measures how long /healthz takes while the read is in
// progress.
import { get } from 'node:http';
import { atMost, type Bench, type Metric } from './bench.ts';
import { costMetrics } from './cost.ts';
import { fanPipeline, runFan } from './fan-run.ts';
import { closeGates } from './gate.ts';
import { requestBytes } from './load/request.ts';
import { runLoad } from './load/run.ts';
import { pause, until } from './pause.ts';
import { Samples } from './percentile.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Reads = {
  /** The number of logs with a large text. */
  readonly texts: number;
  /** The length of each of these texts. */
  readonly characters: number;
  readonly children: number;
  readonly queued: number;
  readonly connections: number;
  /** The number of parallel calls of the doctor. */
  readonly doctors: number;
  /** How often each kind of read is repeated, one after the other. */
  readonly times: number;
  /** The pause between two calls of /healthz. */
  readonly pauseMs: number;
};

/** A kind of read. `paths` are requested in parallel; `find` throws if the body lacks the expected data. */
type Kind = { readonly name: string; readonly paths: readonly string[]; readonly find: (body: string) => unknown };

export const reads: Bench<Reads> = {
  name: 'reads',
  purpose: '/healthz while searches, large trees, counts, selfcheck and doctor are in progress',
  limitMs: { smoke: 60_000, real: 600_000 },
  parameters: {
    smoke: {
      texts: 4,
      characters: 100_000,
      children: 1_000,
      queued: 500,
      connections: 8,
      doctors: 5,
      times: 1,
      pauseMs: 1,
    },
    real: {
      texts: 64,
      characters: 3_900_000,
      children: 100_000,
      queued: 1_000_000,
      connections: 128,
      doctors: 200,
      times: 3,
      pauseMs: 1,
    },
  },

  async run(parameters: Reads, stage: Stage) {
    const { texts, characters, children, queued, connections, doctors, times, pauseMs } = parameters;
    const service = await stage.start({ pipelines: [fanPipeline] });
    const caller = service.caller();
    for (let k = 0; k < texts; k++) await caller.submit('/plugin/large/text', { characters });
    await until(async () => ((await caller.unsettled()) === 0 ? true : undefined), {
      everyMs: 10,
      withinMs: 120_000,
      what: 'the end of the jobs with large texts',
    });
    const { id: run } = await runFan(caller, children);
    const { job_id: leaf } = await caller.newest('fan', 'work');
    await closeGates(service, stage);
    await runLoad(service, {
      path: '/plugin/noop/run',
      connections,
      until: { kind: 'requests', count: queued },
      expect: { status: 202 },
      sampleEvery: 0,
    });
    const total = (body: string): unknown => (JSON.parse(body) as { total: number }).total;
    const jobs = (body: string): unknown => (JSON.parse(body) as object[]).length;
    const status = (body: string): unknown => (JSON.parse(body) as { status: string }).status;
    const kinds: readonly Kind[] = [
      { name: 'search', paths: ['/job-logs?query=%22dog+fox%22'], find: total },
      { name: 'results', paths: ['/job-logs?plugin=large&include_result=true&limit=50'], find: total },
      { name: 'tree', paths: [`/job/${run}/tree`], find: jobs },
      { name: 'leaf', paths: Array<string>(10).fill(`/job/${leaf}/tree`), find: jobs },
      { name: 'queued', paths: ['/jobs?status=queued'], find: total },
      { name: 'selfcheck', paths: ['/system/selfcheck'], find: status },
      { name: 'doctor', paths: Array<string>(doctors).fill('/system/doctor'), find: body => typeof status(body) },
    ];
    const idle = await healthDuring(service, pauseMs, pause(1_000 * Math.min(1, texts / 64)));
    const metrics: Metric[] = healthMetrics('idle', idle);
    const work: unknown[] = [];
    const endStretch = service.stretch();
    for (const { name, paths, find } of kinds) {
      const startMs = performance.now();
      const answers = readAll(service, paths, times);
      const health = await healthDuring(service, pauseMs, answers);
      metrics.push({ name: `${name}_ms`, value: (performance.now() - startMs) / times, unit: 'ms' });
      metrics.push(...healthMetrics(name, health));
      for (const chunks of await answers) work.push([name, find(Buffer.concat(chunks).toString())]);
    }
    const cost = costMetrics([endStretch()], kinds.length * times);
    stage.openGates();
    await service.kill();
    return { metrics: [...metrics, ...cost], work };
  },
};

function healthMetrics(name: string, timesUs: Samples): Metric[] {
  return [
    { name: `${name}_healthz_p99_ms`, value: timesUs.percentile(99) / 1000, unit: 'ms' },
    { name: `${name}_healthz_max_ms`, value: timesUs.percentile(100) / 1000, unit: 'ms', target: atMost(100) },
  ];
}

/** Calls /healthz, one call at a time, until the work is done. Resolves with the times of the calls. */
async function healthDuring(service: Service, pauseMs: number, work: Promise<unknown>): Promise<Samples> {
  const connection = await service.connect();
  const request = requestBytes({ method: 'GET', path: '/healthz', host: service.url.host, token: service.token });
  const timesUs = new Samples();
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  do {
    const startMs = performance.now();
    const { status } = await connection.ask(request);
    timesUs.add((performance.now() - startMs) * 1000);
    if (status !== 200) throw new Error(`/healthz was answered ${status}`);
    await pause(pauseMs);
  } while (!isOver);
  connection.close();
  await work;
  return timesUs;
}

/**
 * Repeats the reads. Of the parallel answers of each repetition, only the first is returned. Its body stays in chunks,
 * because joining them here would delay the calls of /healthz.
 */
async function readAll(service: Service, paths: readonly string[], times: number): Promise<Buffer[][]> {
  const bodies: Buffer[][] = [];
  for (let time = 0; time < times; time++) {
    const answers = await Promise.all(paths.map(path => read(service, path)));
    bodies.push(answers[0]!);
  }
  return bodies;
}

function read({ url, token }: Service, path: string): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const request = get(new URL(path, url), { headers: { Authorization: `Bearer ${token}` }, agent: false }, answer => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(chunks);
        else reject(new Error(`${path} was answered ${answer.statusCode}: ${Buffer.concat(chunks)}`));
      });
      answer.on('error', reject);
    });
    request.on('error', reject);
  });
}
