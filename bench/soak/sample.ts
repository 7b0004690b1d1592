// A sample of what a service uses: memory, descriptors, threads, and the files of its state.
import { readdirSync } from 'node:fs';
import { rssMb } from '../cost.ts';
import type { Service } from '../service.ts';
import { descendantsOf } from '../usage.ts';

export type Sample = {
  readonly minute: number;
  /** Memory of service and hosts, including mapped pages of the store. */
  readonly memoryMb: number;
  /** Memory of service and hosts, without pages of mapped files. */
  readonly anonymousMb: number;
  /** The p99 of single jobs since the last sample, from the request to the end. */
  readonly p99Ms: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly files: number;
};

export type Held = Omit<Sample, 'minute' | 'p99Ms'>;

export function held(service: Service, state: string): Held {
  const processes = [service.pid, ...descendantsOf(service.pid)];
  const entries = (part: string) => processes.reduce((sum, pid) => sum + countIn(`/proc/${pid}/${part}`), 0);
  const files = readdirSync(state, { recursive: true }).length;
  const usage = service.usage();
  const anonymousMb = usage.service.rssAnonymousMb + usage.host.rssAnonymousMb;
  return { memoryMb: rssMb(usage), anonymousMb, descriptors: entries('fd'), threads: entries('task'), files };
}

/** 0 if the process has just ended. */
function countIn(directory: string): number {
  try {
    return readdirSync(directory).length;
  } catch {
    return 0;
  }
}
