// A sample of what a service uses: memory, descriptors, threads, and the files of its state.
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readCheckpoint } from '../../runtime/commit-log/checkpoint-file.ts';
import { logDirectoryOf } from '../../runtime/store/checkpoints.ts';
import { indexPath } from '../../runtime/store/index-store.ts';
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
  /** The jobs that have not ended. */
  readonly unsettled: number;
  /**
   * The open descriptors of service and hosts. Connections of callers do not count, because their number depends on the
   * callers.
   */
  readonly descriptors: number;
  readonly threads: number;
  readonly files: number;
  /** The size of the ledger's data file. */
  readonly ledgerMb: number;
  /** The size of the index's data file. */
  readonly indexMb: number;
  /** The size of the commit log's files together. */
  readonly logMb: number;
  /** The checkpoints of the ledger per minute, since the last sample. */
  readonly checkpoints: number;
};

export type Held = Omit<Sample, 'minute' | 'p99Ms' | 'unsettled' | 'checkpoints'>;

export function held(service: Service, state: string): Held {
  const processes = [service.pid, ...descendantsOf(service.pid)];
  const connections = connectionsOf(service);
  const descriptors = processes
    .flatMap(pid => namesIn(`/proc/${pid}/fd`).map(fd => `/proc/${pid}/fd/${fd}`))
    .filter(descriptor => !connections.has(targetOf(descriptor))).length;
  const threads = processes.reduce((sum, pid) => sum + namesIn(`/proc/${pid}/task`).length, 0);
  const files = readdirSync(state, { recursive: true }).length;
  const usage = service.usage();
  const anonymousMb = usage.service.rssAnonymousMb + usage.host.rssAnonymousMb;
  const log = logDirectoryOf(state);
  return {
    ...{ memoryMb: rssMb(usage), anonymousMb, descriptors, threads, files },
    ledgerMb: sizeMb(join(state, 'data.mdb')),
    indexMb: sizeMb(join(indexPath(state), 'data.mdb')),
    logMb: namesIn(log).reduce((sum, name) => sum + sizeMb(join(log, name)), 0),
  };
}

/** The number of the newest checkpoint of the ledger. */
export function checkpointNumber(state: string): number {
  return readCheckpoint(logDirectoryOf(state))?.number ?? 0;
}

/** The size of a file in MiB; 0 if it has just been removed. */
function sizeMb(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20;
}

/**
 * The open connections to the service's port, named as the links in `/proc/PID/fd` name them. See proc(5),
 * `/proc/net/tcp`.
 */
function connectionsOf(service: Service): Set<string> {
  const established = '01';
  const port = Number(service.url.port).toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync(`/proc/${service.pid}/net/tcp`, 'utf8').split('\n').slice(1, -1);
  const columns = lines.map(line => line.trim().split(/\s+/));
  const ours = columns.filter(([, local, , state]) => state === established && local!.endsWith(`:${port}`));
  return new Set(ours.map(column => `socket:[${column[9]}]`));
}

/** The names in a directory of /proc; empty if the process has just ended. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** The target of the descriptor's link; empty if the descriptor has just been closed. */
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(descriptor);
  } catch {
    return '';
  }
}
