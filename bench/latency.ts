// Bench: how long one job takes on an idle service, and how long a caller waits for a pipeline of three steps.
import { atLeast, atMost, type Bench } from './bench.ts';
import type { Job } from './caller.ts';
import { costMetrics } from './cost.ts';
import { NumberedRequest, numberText, requestBytes } from './load/request.ts';
import { runLoad } from './load/run.ts';
import { momentUs, nowUs } from './moment.ts';
import { pause, until } from './pause.ts';
import { Samples } from './percentile.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';
import { measureSync } from './sync-floor.ts';
import { oneStep, runWaits } from './waiting.ts';

type Latency = {
  readonly samples: number;
  /** The pause between two jobs, in which the service becomes idle. */
  readonly pauseMs: number;
  readonly runs: number;
  /**
   * The number of calls that wait for their job, alternating with synchronous runs. 0: none, for builds whose calls
   * cannot wait.
   */
  readonly waits: number;
  readonly connections: number;
  readonly seconds: number;
};

export const threeSteps = {
  name: 'three',
  on: 'bench.three',
  execution_mode: 'synchronous',
  steps: [
    { id: 'first', uses: 'noop.pass' },
    { id: 'second', uses: 'noop.pass' },
    { id: 'third', uses: 'noop.pass' },
  ],
};
const threeStepsDone = '"status":"succeeded"';
/** With this header, the answer of a run has its result but no tree, like the answers of other systems. */
export const minimalAnswer = 'Prefer: return=minimal\r\n';
/** The larger number of parallel runs. The names of the metrics for it end with this number. */
export const runsMany = 128;

export const latency: Bench<Latency> = {
  name: 'latency',
  purpose:
    'one job at a time on an idle service; a synchronous pipeline of three steps, alone, at 32 and at 128 connections',
  limitMs: { smoke: 30_000, real: 180_000 },
  parameters: {
    smoke: { samples: 50, pauseMs: 1, runs: 30, waits: 30, connections: 8, seconds: 0.25 },
    real: { samples: 2_000, pauseMs: 3, runs: 2_000, waits: 2_000, connections: 32, seconds: 10 },
  },

  async run({ samples, pauseMs, runs, waits, connections, seconds }: Latency, stage: Stage) {
    const service = await stage.start({ pipelines: [threeSteps, oneStep] });
    const sync = await measureSync(Math.ceil(samples / 4), pauseMs);
    const single = await runJobs(service, samples, pauseMs);
    const alone = await runPipelines(service, runs);
    const waited = waits === 0 ? null : await runWaits(service, waits);
    const endStretch = service.stretch();
    const some = await runAtOnce(service, connections, seconds);
    const cost = costMetrics([endStretch()], some.completed);
    const many = await runAtOnce(service, runsMany, seconds);
    const someMinimal = await runAtOnce(service, connections, seconds, minimalAnswer);
    const manyMinimal = await runAtOnce(service, runsMany, seconds, minimalAnswer);
    await service.stop();
    const us = (name: string, value: number) => ({ name, value, unit: 'us' });
    return {
      metrics: [
        { ...us('accept_to_start_p50_us', single.waitUs.percentile(50)), target: atMost(400) },
        { ...us('accept_to_start_p99_us', single.waitUs.percentile(99)), target: atMost(3_000) },
        us('request_to_start_p50_us', single.requestUs.percentile(50)),
        us('request_to_start_p99_us', single.requestUs.percentile(99)),
        us('sync_floor_p50_us', sync.percentile(50)),
        us('sync_floor_p99_us', sync.percentile(99)),
        us('request_to_202_p50_us', single.answerUs.percentile(50)),
        { ...us('run_p50_us', alone.timesUs.percentile(50)), target: atMost(2_000) },
        us('run_p99_us', alone.timesUs.percentile(99)),
        ...(waited === null
          ? []
          : [
              us('wait_p50_us', waited.jobP50Us),
              us('wait_beside_run_p50_us', waited.runP50Us),
              { name: 'wait_to_run', value: waited.jobP50Us / waited.runP50Us, unit: '', target: atMost(1.1) },
            ]),
        { name: 'runs_per_s', value: some.perS, unit: '1/s', target: atLeast(5_000) },
        { name: `runs_per_s_${runsMany}`, value: many.perS, unit: '1/s' },
        { name: 'runs_minimal_per_s', value: someMinimal.perS, unit: '1/s' },
        { name: `runs_minimal_per_s_${runsMany}`, value: manyMinimal.perS, unit: '1/s' },
        us('runs_at_once_p50_us', some.p50Us),
        us('runs_at_once_p99_us', some.p99Us),
        ...cost,
      ],
      work: { single: single.results, alone: alone.results },
    };
  },
};

/**
 * Runs one job at a time. Measures three times: from the request to the answer, from the request to the start of the
 * job, and from its acceptance to its start.
 */
export async function runJobs(service: Service, samples: number, pauseMs: number) {
  const { host } = service.url;
  const connection = await service.connect();
  const request = new NumberedRequest({ path: '/plugin/noop/run', host, token: service.token });
  const [waitUs, requestUs, answerUs] = [new Samples(), new Samples(), new Samples()];
  const results: unknown[] = [];
  for (let n = 0; n < samples; n++) {
    const sentUs = nowUs();
    const reply = await connection.ask(request.number(n));
    answerUs.add(nowUs() - sentUs);
    if (reply.status !== 202) throw new Error(`a job was answered ${reply.status} ${reply.body}`);
    await pause(pauseMs);
    const path = `/job/${(JSON.parse(reply.body.toString()) as Job).job_id}`;
    const look = requestBytes({ method: 'GET', path, host, token: service.token });
    const job = await until(
      async () => {
        const seen = JSON.parse((await connection.ask(look)).body.toString()) as Job;
        return seen.status === 'succeeded' ? seen : undefined;
      },
      { everyMs: pauseMs, withinMs: 10_000, what: 'success of a job' },
    );
    waitUs.add(momentUs(job.started_at) - momentUs(job.created_at));
    requestUs.add(momentUs(job.started_at) - sentUs);
    results.push(job.result?.result);
    await pause(pauseMs);
  }
  connection.close();
  return { waitUs, requestUs, answerUs, results };
}

/** Makes synchronous runs, one at a time, and measures how long the caller waits. */
export async function runPipelines(service: Service, runs: number, headers = '') {
  const { host } = service.url;
  const connection = await service.connect();
  const request = new NumberedRequest({ path: '/pipeline/three', host, token: service.token, headers });
  const timesUs = new Samples();
  const results: unknown[] = [];
  for (let n = 0; n < runs; n++) {
    const startUs = nowUs();
    const reply = await connection.ask(request.number(n));
    timesUs.add(nowUs() - startUs);
    const text = reply.body.toString();
    const isDone = reply.status === 200 && text.includes(threeStepsDone) && text.includes(numberText(n));
    if (!isDone) throw new Error(`a run was answered ${reply.status} ${text}`);
    results.push((JSON.parse(text) as Job).result);
  }
  connection.close();
  return { timesUs, results };
}

/**
 * Makes synchronous runs for a time, from a client process, one at a time on each connection. Throws if no run ends.
 */
export async function runAtOnce(service: Service, connections: number, seconds: number, headers = '') {
  const until = { kind: 'time', ms: seconds * 1000 } as const;
  const expect = { status: 200, text: threeStepsDone };
  const path = '/pipeline/three';
  const result = await runLoad(service, { path, headers, connections, until, expect, sampleEvery: 0 });
  if (result.completed === 0) throw new Error('no run ended');
  return { ...result, perS: (result.completed * 1000) / result.elapsedMs };
}
