// CPU time and memory of the service's process and of its plugin hosts, as Linux counts them.
import { readdirSync, readFileSync } from 'node:fs';

export type Cost = {
  /** User and system time, including that of ended children. */
  readonly cpuMs: number;
  readonly rssMb: number;
  /** The largest resident memory so far. */
  readonly rssPeakMb: number;
  /** Resident memory without pages of mapped files, such as the store's. */
  readonly rssAnonymousMb: number;
};

/** The usage of the service's process, and the sum over its descendants. */
export type Usage = {
  /** The time of the reading, in µs of the system's monotonic clock. */
  readonly atUs: number;
  readonly service: Cost;
  readonly host: Cost;
};

/** The readings at both ends of a stretch of work. */
export type Stretch = { readonly before: Usage; readonly after: Usage };

/** The length of a clock tick in /proc, which is a constant of the kernel's interface. */
const msPerTick = 10;
const kbPerMb = 1024;
const none: Cost = { cpuMs: 0, rssMb: 0, rssPeakMb: 0, rssAnonymousMb: 0 };

export function usageOf(pid: number): Usage {
  const host = descendantsOf(pid).map(costOf).reduce(add, none);
  return { atUs: Number(process.hrtime.bigint() / 1000n), service: costOf(pid), host };
}

/** The descendants of a process, without the process itself. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc')) {
    const fields = /^\d+$/.test(entry) ? statOf(Number(entry)) : null;
    if (!fields) continue;
    const parent = Number(fields[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const found = [...(children.get(pid) ?? [])];
  for (let i = 0; i < found.length; i++) found.push(...(children.get(found[i]!) ?? []));
  return found;
}

/**
 * The CPU time of the living threads of a process and its descendants, in µs. Unlike ticks, it is fine enough for an
 * idle service.
 */
export function fineCpuUs(pid: number): number {
  return [pid, ...descendantsOf(pid)].reduce((sum, each) => sum + threadsUs(each), 0);
}

/** The CPU time of the threads of a process that have this niceness, in µs. */
export function nicedThreadsUs(pid: number, niceness: number): number {
  return threadsUs(pid, thread => Number(statIn(`/proc/${pid}/task/${thread}`)?.[16]) === niceness);
}

function threadsUs(pid: number, isWanted = (_thread: string): boolean => true): number {
  let us = 0;
  for (const thread of entriesOf(`/proc/${pid}/task`)) {
    if (!isWanted(thread)) continue;
    us += Number(textOf(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0] ?? 0) / 1000;
  }
  return us;
}

function costOf(pid: number): Cost {
  const fields = statOf(pid);
  const status = textOf(`/proc/${pid}/status`);
  if (!fields || !status) return none;
  const mb = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / kbPerMb;
  // utime, stime, cutime, cstime; the last two belong to ended children.
  const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
  return { cpuMs: ticks * msPerTick, rssMb: mb('VmRSS'), rssPeakMb: mb('VmHWM'), rssAnonymousMb: mb('RssAnon') };
}

function add(a: Cost, b: Cost): Cost {
  return {
    cpuMs: a.cpuMs + b.cpuMs,
    rssMb: a.rssMb + b.rssMb,
    rssPeakMb: a.rssPeakMb + b.rssPeakMb,
    rssAnonymousMb: a.rssAnonymousMb + b.rssAnonymousMb,
  };
}

/**
 * The fields that follow the process's name in its `stat` file: state, parent, and so on. Null: the process has ended.
 */
function statOf(pid: number): string[] | null {
  return statIn(`/proc/${pid}`);
}

/** The fields that follow the name in the `stat` file of a process or thread. Null: it has ended. */
function statIn(directory: string): string[] | null {
  const text = textOf(`${directory}/stat`);
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return null;
  }
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
