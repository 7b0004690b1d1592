// A case of the bench "turns": the pipelines of a service, and the work that the service gets.
import type { Caller, Job } from '../caller.ts';
import { until } from '../pause.ts';

export type Sizes = {
  /** The length of the text that a condition examines. */
  readonly characters: number;
  /** How many children or events have a text that a condition examines. */
  readonly conditions: number;
  /** The number of entries of a plugin's state. */
  readonly entries: number;
  /** The number of jobs that change the plugin's state. */
  readonly updates: number;
  /** The size of each child's result. */
  readonly childBytes: number;
  /** The number of children. */
  readonly children: number;
  /** The size of a single result. */
  readonly resultBytes: number;
  readonly events: number;
};

export type Case = {
  readonly name: string;
  readonly pipelines?: readonly object[];
  /** Runs before the measurement. */
  readonly prepare?: (caller: Caller, sizes: Sizes) => Promise<unknown>;
  /** Does the work. Resolves with the number of jobs, events or conditions. */
  readonly run: (caller: Caller, sizes: Sizes) => Promise<number>;
};

const msMax = 300_000;

/** A step that runs a command of the plugin `heavy`, whose answers are much work for the ledger. */
export const uses = (id: string, command: string, more: object = {}) => ({ id, uses: `heavy.${command}`, ...more });
export const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

export async function submit(caller: Caller, path: string, payload: object): Promise<void> {
  const id = await caller.submit(path, payload);
  await ended(caller, id);
}

export async function run(caller: Caller, pipeline: string, payload: object): Promise<void> {
  await ended(caller, await caller.submit(`/pipeline/${pipeline}?async=true`, payload));
}

async function ended(caller: Caller, id: string): Promise<void> {
  const look = async (): Promise<Job | undefined> => {
    const job = await caller.job(id);
    return job.status === 'queued' || job.status === 'running' ? undefined : job;
  };
  const job = await until(look, { everyMs: 5, withinMs: msMax, what: `the end of ${id}` });
  if (job.status !== 'succeeded') throw new Error(`${job.plugin}.${job.command} is ${job.status}: ${job.last_error}`);
}

export async function idle(caller: Caller): Promise<void> {
  const look = async () => ((await caller.unsettled()) === 0 ? true : undefined);
  await until(look, { everyMs: 5, withinMs: msMax, what: 'the end of all jobs' });
}

/** Waits until at least this many runs have succeeded. */
export async function succeeded(caller: Caller, runs: number): Promise<void> {
  const look = async () => ((await caller.total(runsPath)) >= runs ? true : undefined);
  await until(look, { everyMs: 5, withinMs: msMax, what: `the end of ${runs} runs` });
}

const runsPath = '/jobs?plugin=pipeline&status=succeeded&limit=1';
