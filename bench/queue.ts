// Builds up a queue of jobs behind closed gates, and drains it.
import type { Caller, Job } from './caller.ts';
import { closeGates } from './gate.ts';
import type { LoadPlan, LoadResult } from './load/plan.ts';
import { runLoad } from './load/run.ts';
import { until } from './pause.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';
import type { Stretch } from './usage.ts';

export type QueuePlan = Pick<LoadPlan, 'path' | 'padBytes' | 'connections' | 'sampleEvery'> & {
  readonly jobs: number;
  /** The number of threads of the plugin host; absent: the default number. */
  readonly threads?: number;
};

export type Drained = {
  /** The load that filled the queue. */
  readonly accepted: LoadResult;
  /** The time from the opening of the gates until the queue is empty and the last accepted job has succeeded. */
  readonly elapsedMs: number;
  /** The usage during that time. */
  readonly stretch: Stretch;
};

/**
 * Fills the queue behind closed gates, and drains it. Throws if a job is refused, or if the last one does not succeed.
 */
export async function drainQueue(service: Service, stage: Stage, { threads, ...plan }: QueuePlan): Promise<Drained> {
  await closeGates(service, stage, threads);
  const accepted = await queueUp(service, plan);
  return { accepted, ...(await drainQueued(service, stage, plan.jobs, accepted.samples.at(-1)!.jobId)) };
}

/**
 * Opens the gates, and waits until the queue is empty. `lastId`: the id of the last accepted job. Throws if the number
 * of queued jobs is not `jobs`, or if the last one does not succeed.
 */
export async function drainQueued(
  service: Service,
  stage: Stage,
  jobs: number,
  lastId: string,
): Promise<Omit<Drained, 'accepted'>> {
  const caller = service.caller();
  const depth = await caller.queueDepth();
  if (depth !== jobs) throw new Error(`${jobs} were accepted, and ${depth} are queued`);
  const endStretch = service.stretch();
  const startMs = performance.now();
  stage.openGates();
  await emptied(caller);
  await succeeded(caller, lastId);
  const elapsedMs = performance.now() - startMs;
  return { elapsedMs, stretch: endStretch() };
}

export function queueUp(service: Service, { jobs, ...plan }: Omit<QueuePlan, 'threads'>): Promise<LoadResult> {
  return runLoad(service, { ...plan, until: { kind: 'requests', count: jobs }, expect: { status: 202 } });
}

export async function emptied(caller: Caller): Promise<void> {
  await until(async () => ((await caller.queueDepth()) === 0 ? true : undefined), {
    everyMs: 5,
    withinMs: 120_000,
    what: 'an empty queue',
  });
}

export async function succeeded(caller: Caller, id: string): Promise<Job> {
  return until(
    async () => {
      const job = await caller.job(id);
      return job.status === 'succeeded' ? job : undefined;
    },
    { everyMs: 2, withinMs: 10_000, what: `success of job ${id}` },
  );
}
