// Bench: ten million delayed jobs. Measures how fast batches of them are accepted, and what they cost in memory and at
// the next start.
import { atMost, type Bench } from './bench.ts';
import type { Caller } from './caller.ts';
import { rssMb } from './cost.ts';
import { freePort } from './free-port.ts';
import { pause, until } from './pause.ts';
import { succeeded } from './queue.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Delayed = {
  readonly jobs: number;
  readonly payloads: number;
  readonly connections: number;
  /** The time between the work and the measurement of memory. */
  readonly settleSeconds: number;
};

const path = '/plugin/noop/run';

export const delayed: Bench<Delayed> = {
  name: 'delayed',
  purpose: 'ten million delayed jobs: accepting them in batches, memory, and the start after a crash',
  limitMs: { smoke: 60_000, real: 900_000 },
  parameters: {
    smoke: { jobs: 2_000, payloads: 500, connections: 2, settleSeconds: 0.1 },
    real: { jobs: 10_000_000, payloads: 10_000, connections: 4, settleSeconds: 20 },
  },

  async run({ jobs, payloads, connections, settleSeconds }: Delayed, stage: Stage) {
    const port = await freePort();
    const setting = { port, service: { max_waiting: 2 * jobs } };
    const empty = await stage.start(setting);
    await pause(settleSeconds * 1000);
    const idleMb = rssMb(empty.usage());
    const perS = await accept(empty.caller(), { jobs, payloads, connections });
    await pause(settleSeconds * 1000);
    const fullMb = rssMb(empty.usage());
    await empty.kill();
    const { service, readyMs } = await restart(stage, setting);
    await scheduledIs(service.caller(), jobs);
    await pause(settleSeconds * 1000);
    const restartedMb = rssMb(service.usage());
    const first = await succeeded(service.caller(), await service.caller().submit(path, { n: 0 }));
    await service.stop();
    return {
      metrics: [
        { name: 'delayed_jobs_per_s', value: perS, unit: '1/s' },
        { name: 'restart_to_ready_ms', value: readyMs, unit: 'ms', target: atMost(3_000) },
        { name: 'rss_more_mb', value: fullMb - idleMb, unit: 'MB' },
        { name: 'rss_restarted_more_mb', value: restartedMb - idleMb, unit: 'MB', target: atMost(100) },
      ],
      work: { jobs, result: first.result?.result },
    };
  },
};

/**
 * Submits the jobs in batches of equal size, all due in a week. Resolves with the number of accepted jobs per second.
 */
async function accept(
  caller: Caller,
  { jobs, payloads, connections }: Omit<Delayed, 'settleSeconds'>,
): Promise<number> {
  const body = JSON.stringify({ delay: '7d', payloads: Array.from({ length: payloads }, (_, n) => ({ n })) });
  let left = jobs / payloads;
  const startMs = performance.now();
  const sendAll = async () => {
    for (; left > 0; ) {
      left--;
      await caller.sendBatch(`${path}/batch`, body, payloads);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendAll));
  return (jobs * 1000) / (performance.now() - startMs);
}

/**
 * Starts the service again. `readyMs`: the time until GET /healthz has been answered and the log says that the service
 * is ready.
 */
async function restart(
  stage: Stage,
  setting: { readonly port: number },
): Promise<{ service: Service; readyMs: number }> {
  const service = stage.launch(setting);
  const startMs = performance.now();
  const answers = async (): Promise<true | undefined> => {
    service.assertRunning();
    const answer = await fetch(`http://127.0.0.1:${setting.port}/healthz`).catch(() => undefined);
    return answer?.status === 200 ? true : undefined;
  };
  await until(answers, { everyMs: 2, withinMs: 120_000, what: 'an answer of /healthz' });
  const healthyMs = performance.now() - startMs;
  await service.ready();
  return { service, readyMs: Math.max(healthyMs, service.readyMs) };
}

async function scheduledIs(caller: Caller, jobs: number): Promise<void> {
  const { scheduled_count: scheduled } = await caller.queue();
  if (scheduled !== jobs) throw new Error(`${scheduled} jobs are delayed instead of ${jobs}`);
}
