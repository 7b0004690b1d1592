// Identifies a process. The pid alone is not enough: it may be reused, and it is valid only in its pid namespace.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * A field that the system does not provide is null. Outside Linux, all fields but `pid` are null. `startTicks` is also null for an ended
 * process.
 */
export type ProcessIdentity = {
  readonly pid: number;
  readonly startTicks: string | null;
  readonly bootId: string | null;
  readonly namespace: string | null;
};

export function identify(pid: number): ProcessIdentity {
  return { pid, startTicks: livingStat(pid)?.[startTicksAt] ?? null, bootId: bootId(), namespace: pidNamespace() };
}

/** Whether the pid is valid in this process: its boot and its pid namespace are those of this process, or are unknown. */
export function isHere({ bootId: boot, namespace }: ProcessIdentity): boolean {
  return (boot === null || boot === bootId()) && (namespace === null || namespace === pidNamespace());
}

/**
 * Whether exactly this process still runs, not as a zombie. False for a process of another boot or pid namespace. If its start ticks are
 * unknown, or /proc hides the pid, any process with this pid counts.
 */
export function isAlive(known: ProcessIdentity): boolean {
  if (!isHere(known)) return false;
  if (known.startTicks !== null) {
    const fields = statOf(known.pid);
    return fields === null ? isHidden(known.pid) : isLiving(fields) && fields[startTicksAt] === known.startTicks;
  }
  try {
    process.kill(known.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The position of the start ticks among the fields of `statOf`. */
const startTicksAt = 19;

/**
 * Whether this pid belongs to a process of this user that /proc does not show. If /proc is mounted with `hidepid`, a process that forbids
 * inspection is hidden even from its own user. The start time of a hidden process cannot be read, so the process must be assumed to be the
 * one that is looked for.
 */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return isProcOurs();
  } catch {
    return false;
  }
}

/** Like `statOf`, but null for a process that has ended and is still listed (a zombie). */
export function livingStat(pid: number): readonly string[] | null {
  const fields = statOf(pid);
  return fields !== null && isLiving(fields) ? fields : null;
}

function isLiving([state]: readonly string[]): boolean {
  return state !== 'Z' && state !== 'X';
}

/** The fields of `/proc/PID/stat` from the third on: state, parent, group. Null if /proc shows no such process. */
export function statOf(pid: number): readonly string[] | null {
  if (!isProcOurs()) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field, the name in parentheses, may contain anything. The third begins after its end.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** The pids of all processes that /proc shows. None outside Linux, or if /proc shows another pid namespace. */
export function processNumbers(): number[] {
  if (!isProcOurs()) return [];
  try {
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

let knownOurs: boolean | undefined;

/** Whether /proc shows this pid namespace. Otherwise the pids in /proc belong to other processes. The answer is determined only once. */
function isProcOurs(): boolean {
  knownOurs ??= linkAt('/proc/self') === String(process.pid);
  return knownOurs;
}

let knownBootId: string | null | undefined;

/** The id of this boot; null if the system does not provide one. It is read once, because no process survives a reboot. */
export function bootId(): string | null {
  if (knownBootId === undefined) {
    try {
      knownBootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    } catch {
      knownBootId = null;
    }
  }
  return knownBootId;
}

let knownNamespace: string | null | undefined;

/** The pid namespace of this process; null if the system does not name one. It is read once, because it never changes. */
export function pidNamespace(): string | null {
  if (knownNamespace === undefined) knownNamespace = linkAt('/proc/self/ns/pid');
  return knownNamespace;
}

/**
 * Sends a signal to a process or, if `pid` is negative, to the process group of this number. Has no effect if the process or group has ended,
 * or belongs to another user.
 */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {}
}

/** The target of a link; null if the path is no link or does not exist. */
export function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
