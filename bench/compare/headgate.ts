// headgate's turn in the bench "peers". It does the same work as the peers, over HTTP, with plugin code in the plugin
// host.

import { callFan, fanPipeline, runFan } from '../fan-run.ts';
import { closeGates, idle } from '../gate.ts';
import { minimalAnswer, runAtOnce, runJobs, runPipelines, threeSteps } from '../latency.ts';
import { runAccepting } from '../load/accepting.ts';
import { hasWrk } from '../load/wrk.ts';
import { type Facts, payloadOf } from '../peers/peer.ts';
import { fanoutRuns, type TurnFigures, type TurnPlan, warmFanouts } from '../peers/turn.ts';
import { median } from '../percentile.ts';
import { drainQueued, queueUp } from '../queue.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';

const path = '/plugin/noop/run';

/** The number of payloads in a batch. */
const batchPayloads = 10_000;
/** The number of batches that are sent at the same time. */
const batchConnections = 4;

export async function headgateTurn(stage: Stage, plan: TurnPlan): Promise<TurnFigures> {
  stage.clear();
  const service = await stage.start({ pipelines: [threeSteps, fanPipeline] });
  await warmUp(service, stage, plan);
  await closeGates(service, stage);
  const oneRate = await submitRate(service, plan.one, 1);
  const flightRate = await flightRateOf(service, stage, plan);
  stage.openGates();
  const { jobs } = plan;
  await closeGates(service, stage);
  const bulk = await submitBatches(service, jobs);
  const drained = await drainQueued(service, stage, jobs, bulk.lastId);
  const { requestUs } = await runJobs(service, plan.samples, plan.pauseMs);
  const { timesUs } = await runPipelines(service, plan.runs, minimalAnswer);
  const runRates: number[] = [];
  for (const width of plan.runsAtOnce) {
    runRates.push((await runAtOnce(service, width, plan.seconds, minimalAnswer)).perS);
  }
  const fanoutUs: number[] = [];
  for (const children of plan.fanouts) fanoutUs.push(await fanOut(service, children));
  await service.stop();
  return {
    facts: facts(),
    oneRate,
    flightRate,
    bulkRate: (jobs * 1000) / bulk.elapsedMs,
    drainRate: (jobs * 1000) / drained.elapsedMs,
    drained: jobs,
    startUs: requestUs.values(),
    runUs: timesUs.values(),
    runRates,
    fanoutUs,
    shortfall: null,
  };
}

function facts(): Facts {
  return {
    versions: `headgate, over HTTP${hasWrk() ? ' (wrk for submit_in_flight)' : ''}`,
    durability: 'synced before it is acknowledged',
    handlers: 'isolated: threads of a process of their own',
    records: 'kept, with logs and search index',
    join: 'its own',
  };
}

/** Warms the service up with the same work as the peers. */
async function warmUp(service: Service, stage: Stage, plan: TurnPlan): Promise<void> {
  await submitRate(service, plan.warmup, plan.inFlight);
  await closeGates(service, stage);
  await flightRateOf(service, stage, plan);
  stage.openGates();
  await idle(service.caller());
  for (const width of plan.runsAtOnce) await runAtOnce(service, width, plan.seconds, minimalAnswer);
  for (let n = 0; n < warmFanouts; n++) await runFan(service.caller(), plan.warmup / 10);
}

async function submitRate(service: Service, jobs: number, connections: number): Promise<number> {
  const { elapsedMs } = await queueUp(service, { path, jobs, connections, sampleEvery: 0 });
  return (jobs * 1000) / elapsedMs;
}

/**
 * Submits the jobs in batches. The measured time includes making the bodies, as it includes making the payloads of the
 * peers.
 */
async function submitBatches(service: Service, jobs: number) {
  const caller = service.caller();
  const startMs = performance.now();
  let next = 0;
  let lastId = '';
  const sendOn = async () => {
    while (next < jobs) {
      const from = next;
      next = Math.min(jobs, from + batchPayloads);
      const payloads = Array.from({ length: next - from }, (_, k) => payloadOf(from + k));
      lastId = await caller.sendBatch(`${path}/batch`, JSON.stringify({ payloads }), payloads.length);
    }
  };
  await Promise.all(Array.from({ length: batchConnections }, sendOn));
  return { elapsedMs: performance.now() - startMs, lastId };
}

/**
 * Measures how many jobs are accepted per second at `inFlight` connections. Throws if fewer jobs are queued than were
 * answered 202.
 */
async function flightRateOf(service: Service, stage: Stage, { inFlight, seconds }: TurnPlan): Promise<number> {
  const before = await service.caller().queueDepth();
  const { directory } = stage;
  const { completed, perS } = await runAccepting(service, { path, connections: inFlight, seconds, directory });
  const came = (await service.caller().queueDepth()) - before;
  if (came < completed) throw new Error(`${completed} were answered 202, and ${came} are queued`);
  return perS;
}

/** The median time of a fan-out in µs, from just before the request to the end of the run. */
async function fanOut(service: Service, children: number): Promise<number> {
  const connection = await service.connect();
  const times: number[] = [];
  for (let n = 0; n < fanoutRuns(children); n++) {
    const { sentUs, completedUs } = await callFan(service, connection, children);
    times.push(completedUs - sentUs);
  }
  connection.close();
  return median(times);
}
