// One run of the fan-out pipeline: a job makes items, one job handles each item, and a last job adds them up.
import type { Caller, Job } from './caller.ts';
import type { Connection } from './load/connection.ts';
import { requestBytes } from './load/request.ts';
import { momentUs, nowUs } from './moment.ts';
import { until } from './pause.ts';
import type { Service } from './service.ts';

/** The steps of a fan-out. `worker`: the instance that runs the jobs of the items. */
export const fanSteps = (worker = 'fan') => [
  { id: 'make', uses: 'fan.make' },
  { id: 'work', uses: `${worker}.work`, foreach: 'payload.items' },
  { id: 'sum', uses: 'fan.sum', join: 'all' },
];

export const fanPipeline = {
  name: 'fan',
  on: 'bench.fan',
  execution_mode: 'synchronous',
  timeout_secs: 300,
  steps: fanSteps(),
};

export type FanRun = {
  readonly id: string;
  /** The time from the run's creation to its completion, by its record. */
  readonly wholeUs: number;
  /** When the run completed, in µs since the epoch. */
  readonly completedUs: number;
  readonly result: Job['result'];
};

/** Runs the fan-out pipeline, and polls until the run has ended. Throws if it does not succeed. */
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

export type FanCall = {
  /** The time just before the request, by the caller's clock, in µs since the epoch. */
  readonly sentUs: number;
  /** When the answer was complete, by the caller's clock, in µs since the epoch. */
  readonly answeredUs: number;
  /** When the run was created, by its record, in µs since the epoch. */
  readonly createdUs: number;
  /** When the run completed, by its record, in µs since the epoch. */
  readonly completedUs: number;
  readonly result: Job['result'];
};

/** Runs the fan-out pipeline by a synchronous call. Nothing polls the run; its record is read after the answer. */
export async function callFan(service: Service, connection: Connection, children: number): Promise<FanCall> {
  const body = JSON.stringify({ payload: { count: children } });
  const parts = { host: service.url.host, token: service.token };
  const request = requestBytes({ ...parts, method: 'POST', path: '/pipeline/fan', body });
  const sentUs = nowUs();
  const reply = await connection.ask(request);
  const answeredUs = nowUs();
  const { job_id, status, result } = JSON.parse(reply.body.toString()) as Job;
  if (reply.status !== 200 || status !== 'succeeded') throw new Error(`a run was answered ${reply.status} ${status}`);
  const job = await service.caller().job(job_id);
  const [createdUs, completedUs] = [momentUs(job.created_at), momentUs(job.completed_at)];
  return { sentUs, answeredUs, createdUs, completedUs, result };
}

function settled(job: Job): Job | undefined {
  return job.status === 'queued' || job.status === 'running' ? undefined : job;
}
