// Bench: requests over HTTP from another process. Each request is answered when its job is on disk.
import { atLeast, atMost, type Bench, type Metric } from './bench.ts';
import { costMetrics } from './cost.ts';
import { closeGates } from './gate.ts';
import { runAccepting } from './load/accepting.ts';
import { hasWrk, type WrkResult } from './load/wrk.ts';
import { until } from './pause.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Accept = { readonly connections: number; readonly seconds: number; readonly warmupSeconds: number };

const path = '/plugin/noop/run';

export const accept: Bench<Accept> = {
  name: 'accept',
  purpose: 'requests over HTTP at 128 connections, each answered when its job is on disk',
  limitMs: { smoke: 30_000, real: 180_000 },
  parameters: {
    smoke: { connections: 8, seconds: 0.25, warmupSeconds: 0 },
    real: { connections: 128, seconds: 10, warmupSeconds: 2 },
  },

  async run(parameters: Accept, stage: Stage) {
    const queued = await acceptOnly(parameters, stage);
    stage.clear();
    const running = await acceptAndRun(parameters, stage);
    return {
      metrics: [
        { name: 'accepted_per_s', value: queued.load.perS, unit: '1/s', target: atLeast(40_000) },
        { name: 'p50_ms', value: queued.load.p50Us / 1000, unit: 'ms' },
        { name: 'p99_ms', value: queued.load.p99Us / 1000, unit: 'ms', target: atMost(15) },
        ...queued.cost,
        { name: 'accepted_while_running_per_s', value: running.load.perS, unit: '1/s' },
        { name: 'while_running_p99_ms', value: running.load.p99Us / 1000, unit: 'ms' },
      ],
      work: { queued: queued.work, running: running.work },
      circumstances: { client: hasWrk() ? 'wrk' : 'bundled' },
    };
  },
};

type Phase = { readonly load: WrkResult; readonly cost: readonly Metric[]; readonly work: unknown };

/** Measures how fast jobs are accepted. Gates hold the plugin threads, so that no job runs meanwhile. */
async function acceptOnly(parameters: Accept, stage: Stage): Promise<Phase> {
  const service = await stage.start();
  await closeGates(service, stage);
  const { load, cost } = await measure(service, parameters, stage);
  const caller = service.caller();
  const depthAfter = await caller.queueDepth();
  const surplus = depthAfter - load.completed - load.before;
  // The surplus jobs belong to requests that were still unanswered when the client ended.
  const holds = surplus >= 0 && surplus <= 2 * parameters.connections;
  if (!holds) throw new Error(`${load.completed} were answered 202, and ${depthAfter} are queued`);
  const last = await caller.job(await caller.submit(path, { n: 'last' }));
  // Queued jobs stay queued, because a stopping service dispatches nothing.
  stage.openGates();
  await service.stop();
  return { load, cost, work: { holds, last: [last.plugin, last.command, last.status] } };
}

/** Measures how fast jobs are accepted while others run on the same cores. */
async function acceptAndRun(parameters: Accept, stage: Stage): Promise<Phase> {
  const service = await stage.start();
  const { load, cost } = await measure(service, parameters, stage);
  const caller = service.caller();
  const id = await caller.submit(path, { n: 'last' });
  const last = await until(
    async () => {
      const job = await caller.job(id);
      return job.status === 'succeeded' ? job : undefined;
    },
    { everyMs: 20, withinMs: 60_000, what: 'the last job' },
  );
  await service.stop();
  return { load, cost, work: { last: [last.plugin, last.command, last.status, last.result?.result] } };
}

async function measure(service: Service, { connections, seconds, warmupSeconds }: Accept, stage: Stage) {
  const plan = { path, connections, directory: stage.directory };
  if (warmupSeconds > 0) await runAccepting(service, { ...plan, seconds: warmupSeconds });
  const depth = await service.caller().queueDepth();
  const endStretch = service.stretch();
  const load = await runAccepting(service, { ...plan, seconds });
  return { load: { ...load, before: depth }, cost: costMetrics([endStretch()], load.completed) };
}
