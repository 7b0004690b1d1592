// One run of the fan-out's pipeline: made items, a job for each, and one that adds them up.
import type { Caller, Job } from './caller.ts';
import { momentUs } from './moment.ts';
import { until } from './pause.ts';

export const fanPipeline = {
  name: 'fan',
  on: 'bench.fan',
  execution_mode: 'synchronous',
  timeout_secs: 300,
  steps: [
    { id: 'make', uses: 'fan.make' },
    { id: 'work', uses: 'fan.work', foreach: 'payload.items' },
    { id: 'sum', uses: 'fan.sum', join: 'all' },
  ],
};

export type FanRun = {
  readonly id: string;
  /** The run's record: from created to completed. */
  readonly wholeUs: number;
  /** The end of that, in µs since the epoch. */
  readonly completedUs: number;
  readonly result: Job['result'];
};

/** Throws when the run does not succeed. */
export async function runFan(caller: Caller, children: number): Promise<FanRun> {
  const id = await caller.submit('/pipeline/fan?async=true', { count: children });
  const root = await until(async () => settled(await caller.job(id)), {
    everyMs: children < 10_000 ? 2 : 50,
    withinMs: 120_000,
    what: `a run with ${children} children`,
  });
  if (root.status !== 'succeeded') throw new Error(`the run is ${root.status}: ${root.last_error}`);
  const completedUs = momentUs(root.completed_at);
  return { id, wholeUs: completedUs - momentUs(root.created_at), completedUs, result: root.result };
}

function settled(job: Job): Job | undefined {
  return job.status === 'queued' || job.status === 'running' ? undefined : job;
}
