// headgate's turn in the bench "peers": the work of the peers, over HTTP, with plugin code in the plugin host.

import { fanPipeline, runFan } from '../fan-run.ts';
import { closeGates } from '../gate.ts';
import { nowUs, runJobs, runPipelines, threeSteps, threeStepsDone } from '../latency.ts';
import { runLoad } from '../load/run.ts';
import type { Facts } from '../peers/peer.ts';
import type { TurnFigures, TurnPlan } from '../peers/turn.ts';
import { percentile } from '../percentile.ts';
import { emptied, queueUp, succeeded } from '../queue.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';

const facts: Facts = {
  versions: 'headgate, over HTTP',
  durability: 'synced before it is acknowledged',
  handlers: 'isolated: threads of a process of their own',
  records: 'kept, with logs and search index',
  join: 'its own',
};
const path = '/plugin/noop/run';
/** As for the peers: small fan-outs are repeated, and the median counts. */
const smallChildren = 10_000;
const smallRuns = 5;

/** There is no bulk call: what the peers add in bulk comes in like the rest, and counts for draining only. */
export async function headgateTurn(stage: Stage, plan: TurnPlan): Promise<TurnFigures> {
  stage.clear();
  const service = await stage.start({ pipelines: [threeSteps, fanPipeline] });
  await warmUp(service, plan.warmup);
  await closeGates(service, stage);
  const one = await submit(service, plan.one, 1);
  const flight = await submit(service, plan.flight, plan.inFlight);
  const bulk = await submit(service, plan.bulk, plan.inFlight);
  const startMs = performance.now();
  stage.openGates();
  await emptied(service.caller());
  await succeeded(service.caller(), bulk.lastId);
  const drainRate = ((plan.one + plan.flight + plan.bulk) * 1000) / (performance.now() - startMs);
  const { requestUs } = await runJobs(service, plan.samples, plan.pauseMs);
  const { timesUs } = await runPipelines(service, plan.runs);
  const runs = await runLoad(service, {
    path: '/pipeline/three',
    connections: plan.runsAtOnce,
    until: { kind: 'requests', count: plan.runs },
    expect: { status: 200, text: threeStepsDone },
    sampleEvery: 0,
  });
  const fanoutUs: number[] = [];
  for (const children of plan.fanouts) fanoutUs.push(await fanOut(service, children));
  await service.stop();
  return {
    facts,
    oneRate: one.rate,
    flightRate: flight.rate,
    bulkRate: null,
    drainRate,
    startUs: requestUs.values(),
    runUs: timesUs.values(),
    runRate: (plan.runs * 1000) / runs.elapsedMs,
    fanoutUs,
  };
}

/** As the peers do. */
async function warmUp(service: Service, jobs: number): Promise<void> {
  await submit(service, jobs, 128);
  await emptied(service.caller());
  await runPipelines(service, jobs / 50);
  for (let n = 0; n < 5; n++) await runFan(service.caller(), jobs / 5);
}

async function submit(service: Service, jobs: number, connections: number) {
  const { samples, elapsedMs } = await queueUp(service, { path, jobs, connections, sampleEvery: jobs - 1 });
  return { rate: (jobs * 1000) / elapsedMs, lastId: samples.at(-1)!.jobId };
}

/** From just before the request to the end of the join: the median in µs. */
async function fanOut(service: Service, children: number): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < (children < smallChildren ? smallRuns : 1); n++) {
    const sentUs = nowUs();
    times.push((await runFan(service.caller(), children)).completedUs - sentUs);
  }
  return percentile(times, 50);
}
