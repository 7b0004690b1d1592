// Bench: what a million queued jobs cost in memory and at the next start, and then a million queued runs beside them.
// Also the cost of an idle service.

import { usedBytes } from '../runtime/commit-log/log-reader.ts';
import { listSegments } from '../runtime/commit-log/segments.ts';
import { logDirectoryOf } from '../runtime/store/checkpoints.ts';
import { atLeast, atMost, type Bench, type Metric } from './bench.ts';
import type { Caller } from './caller.ts';
import { memoryMetrics, rssMb } from './cost.ts';
import { freePort } from './free-port.ts';
import type { LoadSample } from './load/plan.ts';
import { runLoad } from './load/run.ts';
import { pause, until } from './pause.ts';
import type { Service } from './service.ts';
import { type Setting, type Stage, workers } from './stage.ts';
import { fineCpuUs } from './usage.ts';

type Backlog = {
  readonly jobs: number;
  /** The number of runs. Each has a single job, which waits behind the queued jobs. */
  readonly runs: number;
  readonly connections: number;
  readonly sampleEvery: number;
  /** The time between a start and the measurement of the idle service. */
  readonly settleSeconds: number;
  /**
   * How much of the commit log, in MiB, a start after a crash must apply again. The value in `real` is two full
   * segments.
   */
  readonly replayMb: number;
  readonly idleSeconds: number;
};

export const backlog: Bench<Backlog> = {
  name: 'backlog',
  purpose:
    'a million queued jobs, then a million queued runs beside them: memory, and the start after a crash; and the CPU of an idle service',
  limitMs: { smoke: 60_000, real: 900_000 },
  parameters: {
    smoke: {
      jobs: 2_000,
      runs: 1_000,
      connections: 16,
      sampleEvery: 200,
      settleSeconds: 0.1,
      replayMb: 2,
      idleSeconds: 0.25,
    },
    real: {
      jobs: 1_000_000,
      runs: 1_000_000,
      connections: 128,
      sampleEvery: 10_000,
      settleSeconds: 20,
      replayMb: 32,
      idleSeconds: 10,
    },
  },

  async run(parameters: Backlog, stage: Stage) {
    const idle = await measureIdle(parameters, stage);
    const { service, samples, perS } = await queueUp(parameters, stage);
    await pause(2_000 * Math.min(1, parameters.settleSeconds));
    const full = service.usage();
    await service.kill();
    const restarted = await restart(service, parameters.jobs, stage);
    const caller = restarted.service.caller();
    const found: unknown[] = [];
    for (const { n, jobId } of samples) {
      const { plugin, command } = await caller.job(jobId);
      found.push([n, plugin, command]);
    }
    const after = restarted.service.usage();
    const replayed = await replay(restarted.service, parameters, stage);
    const runs = await queueRuns(replayed.service, { ...parameters, jobs: replayed.jobs }, stage);
    return {
      metrics: [
        { name: 'rss_mb', value: rssMb(full), unit: 'MB', target: atMost(400) },
        { name: 'rss_anonymous_mb', value: full.service.rssAnonymousMb + full.host.rssAnonymousMb, unit: 'MB' },
        ...memoryMetrics(full),
        { name: 'queued_per_s', value: perS, unit: '1/s' },
        ...restarted.metrics,
        { name: 'rss_restarted_mb', value: rssMb(after), unit: 'MB', target: atMost(400) },
        ...replayed.metrics,
        ...runs,
        ...idle,
      ],
      work: { jobs: parameters.jobs, runs: parameters.runs, found },
    };
  },
};

/** With these settings, no checkpoint shortens the commit log before it has the length that the bench wants. */
const longLog = { log: { segment: '256MB', churn: '4GB' } };
const padBytes = 1_000;

/**
 * Queues more jobs, until a start must apply `replayMb` of the commit log again. Then kills the service and starts it
 * again.
 */
async function replay(before: Service, { jobs, connections, replayMb }: Backlog, stage: Stage) {
  await before.kill();
  const { service } = await restart(before, jobs, stage, longLog);
  const more = Math.ceil((replayMb * 2 ** 20) / padBytes);
  await runLoad(service, {
    path: '/plugin/gate/hold',
    padBytes,
    connections,
    until: { kind: 'requests', count: more },
    expect: { status: 202 },
    sampleEvery: 0,
  });
  await depthIs(service.caller(), jobs + more);
  await service.kill();
  const bytes = listSegments(logDirectoryOf(stage.state)).reduce((sum, segment) => sum + usedBytes(segment), 0);
  const restarted = await restart(service, jobs + more, stage);
  const ready = restarted.metrics.find(({ name }) => name === 'restart_to_ready_ms')!;
  const metrics: Metric[] = [
    { name: 'replayed_mb', value: bytes / 2 ** 20, unit: 'MB', target: atLeast(replayMb) },
    { ...ready, name: 'replay_restart_to_ready_ms' },
  ];
  return { service: restarted.service, jobs: jobs + more, metrics };
}

const setting = { pipelines: [{ name: 'held', on: 'bench.held', steps: [{ id: 'hold', uses: 'gate.hold' }] }] };

/** Queues runs beside the queued jobs; then kills the service and starts it again. */
async function queueRuns(
  service: Service,
  { jobs, runs, connections, settleSeconds }: Backlog,
  stage: Stage,
): Promise<Metric[]> {
  const { elapsedMs } = await runLoad(service, {
    path: '/pipeline/held?async=true',
    connections,
    until: { kind: 'requests', count: runs },
    expect: { status: 202 },
    sampleEvery: 0,
  });
  await depthIs(service.caller(), jobs + runs);
  await pause(2_000 * Math.min(1, settleSeconds));
  const full = service.usage();
  await service.kill();
  const restarted = await restart(service, jobs + runs, stage);
  const after = restarted.service.usage();
  await restarted.service.kill();
  const ready = restarted.metrics.find(({ name }) => name === 'restart_to_ready_ms')!;
  return [
    { name: 'runs_rss_mb', value: rssMb(full), unit: 'MB' },
    { name: 'runs_queued_per_s', value: (runs * 1000) / elapsedMs, unit: '1/s' },
    { ...ready, name: 'runs_restart_to_ready_ms', target: atMost(3_000) },
    { name: 'runs_rss_restarted_mb', value: rssMb(after), unit: 'MB', target: atMost(800) },
  ];
}

/** Queues jobs of the plugin `gate`. The first of them block all plugin threads, also after a restart, and the others wait. */
async function queueUp({ jobs, connections, sampleEvery }: Backlog, stage: Stage) {
  const service = await stage.start({ port: await freePort(), ...setting });
  const count = jobs + workers;
  const { samples, elapsedMs } = await runLoad(service, {
    path: '/plugin/gate/hold',
    connections,
    until: { kind: 'requests', count },
    expect: { status: 202 },
    sampleEvery,
  });
  await depthIs(service.caller(), jobs);
  return { service, samples: samples as readonly LoadSample[], perS: (count * 1000) / elapsedMs };
}

/** Starts the service again on the same address, and calls /healthz from the first moment on until it answers. */
async function restart(before: Service, queued: number, stage: Stage, more: Setting = {}) {
  const service = stage.launch({ port: Number(before.url.port), ...setting, ...more });
  const startMs = performance.now();
  const answers = async (): Promise<true | undefined> => {
    service.assertRunning();
    const answer = await fetch(new URL('/healthz', before.url)).catch(() => undefined);
    return answer?.status === 200 ? true : undefined;
  };
  await until(answers, { everyMs: 2, withinMs: 120_000, what: 'an answer of /healthz' });
  const healthyMs = performance.now() - startMs;
  await service.ready();
  await depthIs(service.caller(), queued);
  const loadedMs = performance.now() - startMs;
  const metrics: Metric[] = [
    { name: 'restart_to_ready_ms', value: Math.max(healthyMs, service.readyMs), unit: 'ms', target: atMost(2_000) },
    { name: 'restart_to_healthz_ms', value: healthyMs, unit: 'ms' },
    { name: 'restart_to_ready_line_ms', value: service.readyMs, unit: 'ms' },
    { name: 'restart_to_all_queued_ms', value: loadedMs, unit: 'ms' },
  ];
  return { service, metrics };
}

async function depthIs(caller: Caller, jobs: number): Promise<void> {
  await until(async () => ((await caller.queueDepth()) === jobs ? true : undefined), {
    everyMs: 20,
    withinMs: 60_000,
    what: `a queue of ${jobs}`,
  });
}

/** Measures a service with nothing to do: its CPU time as a share of one core, and its memory. */
async function measureIdle({ settleSeconds, idleSeconds }: Backlog, stage: Stage): Promise<Metric[]> {
  const service = await stage.start();
  await pause(settleSeconds * 1000);
  const beforeUs = fineCpuUs(service.pid);
  const startMs = performance.now();
  await pause(idleSeconds * 1000);
  const elapsedMs = performance.now() - startMs;
  const percent = (fineCpuUs(service.pid) - beforeUs) / (elapsedMs * 10);
  const rss = rssMb(service.usage());
  await service.stop();
  stage.clear();
  return [
    { name: 'idle_cpu_percent', value: percent, unit: '%', target: atMost(0.5) },
    { name: 'idle_rss_mb', value: rss, unit: 'MB' },
  ];
}
