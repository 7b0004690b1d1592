// What a plugin host's process is started with, and what it is told over its pipe.
import type { HostedPlugin, Runtime } from './plugin-host.ts';

/** Where the host reads its key, which is all there is. */
export const keyFd = 0;
/** The pipe's place among the streams of the process. */
export const pipeFd = 3;

/** The first argument, as JSON. */
export type HostSetup = {
  readonly name: string;
  readonly threads: number;
  readonly runtimes: readonly Runtime[];
  readonly isConcurrent: boolean;
  readonly runDirectory: string;
  /** Of the host and its plugins; left out, it stays as it is. */
  readonly umask?: number | undefined;
  /** Of the host's marks. */
  readonly marksId: string;
};
/** Packed bodies of the messages of these names. */
export type Configure = { readonly generation: number; readonly plugins: readonly HostedPlugin[] };
export type Stop = { readonly graceMs: number };
