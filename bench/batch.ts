// Bench: batches of jobs over HTTP, and how long GET /healthz takes beside them. For comparison, the same is measured
// beside single calls.
import { atLeast, atMost, type Bench } from './bench.ts';
import type { Caller } from './caller.ts';
import { costMetrics } from './cost.ts';
import { closeGates } from './gate.ts';
import { runAccepting } from './load/accepting.ts';
import { readOften } from './read-load.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Batch = {
  readonly payloads: number;
  readonly connections: number;
  /** The number of connections for the single calls, with which the batches are compared. */
  readonly singleConnections: number;
  readonly seconds: number;
};

const path = '/plugin/noop/run';

export const batch: Bench<Batch> = {
  name: 'batch',
  purpose: 'batches of 10,000 jobs over HTTP, each answered when its jobs are on disk, beside GET /healthz',
  limitMs: { smoke: 30_000, real: 180_000 },
  parameters: {
    smoke: { payloads: 500, connections: 2, singleConnections: 8, seconds: 0.25 },
    real: { payloads: 10_000, connections: 8, singleConnections: 128, seconds: 8 },
  },

  /** Gates hold the plugin threads, so that only accepting is measured. */
  async run({ payloads, connections, singleConnections, seconds }: Batch, stage: Stage) {
    const service = await stage.start();
    await closeGates(service, stage);
    const caller = service.caller();
    const beside = await probed(service, stage, seconds, () =>
      runAccepting(service, { path, connections: singleConnections, directory: stage.directory, seconds }),
    );
    const before = await caller.queueDepth();
    const endStretch = service.stretch();
    const { work: sent, p99Ms } = await probed(service, stage, seconds, () =>
      sendBatches(caller, payloads, connections, seconds),
    );
    const cost = costMetrics([endStretch()], sent.jobs);
    const queued = (await caller.queueDepth()) - before;
    if (queued !== sent.jobs) throw new Error(`${sent.jobs} were accepted, and ${queued} are queued`);
    // Queued jobs stay queued, because a stopping service dispatches nothing.
    stage.openGates();
    await service.stop();
    return {
      metrics: [
        { name: 'batch_jobs_per_s', value: sent.jobs / sent.seconds, unit: '1/s', target: atLeast(150_000) },
        { name: 'healthz_p99_ms', value: p99Ms, unit: 'ms' },
        { name: 'healthz_p99_ms_beside_singles', value: beside.p99Ms, unit: 'ms' },
        { name: 'healthz_p99_ratio', value: p99Ms / beside.p99Ms, unit: '', target: atMost(2) },
        ...cost,
      ],
      work: { payloads, isQueued: true },
    };
  },
};

/** Does the work while another process calls GET /healthz on one connection. */
async function probed<T>(service: Service, stage: Stage, seconds: number, work: () => Promise<T>) {
  const plan = { path: '/healthz', connections: 1, seconds };
  const [done, { p99Us }] = await Promise.all([work(), readOften(service, plan, stage)]);
  return { work: done, p99Ms: p99Us / 1000 };
}

async function sendBatches(caller: Caller, payloads: number, connections: number, seconds: number) {
  const body = JSON.stringify({ payloads: Array.from({ length: payloads }, (_, n) => ({ n })) });
  const startMs = performance.now();
  let batches = 0;
  const sendUntilOver = async () => {
    while (performance.now() - startMs < seconds * 1000) {
      await caller.sendBatch(`${path}/batch`, body, payloads);
      batches++;
    }
  };
  await Promise.all(Array.from({ length: connections }, sendUntilOver));
  return { jobs: batches * payloads, seconds: (performance.now() - startMs) / 1000 };
}
