// Why plugin threads end, and their limits.
import { totalmem } from 'node:os';
import { describe } from '../wire/response.ts';

/** A thread that outgrows it dies; Buffers are not counted. */
export const threadHeapMbMax = 512;
/** A thread that cannot be stopped within this time takes the host down. */
export const terminateMsMax = 2_000;

/** The error of the task that brought its thread down. */
export function reasonOf(error: unknown): string {
  if ((error as { code?: string } | null | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return `out of memory: a plugin thread may use ${threadHeapMbMax} MiB`;
  }
  const message = describe(error);
  const code = /^worker exited with code: (\d+)$/.exec(message)?.[1];
  return code === undefined ? `uncaught error: ${message}` : exitReason(Number(code));
}

export function exitReason(code: number): string {
  return `the plugin ended its thread: process.exit(${code})`;
}

/** The heap limit of each thread of a host with this many. */
export function heapMb(threads: number): number {
  return Math.max(64, Math.min(threadHeapMbMax, Math.floor(totalmem() / 2 ** 21 / threads)));
}
