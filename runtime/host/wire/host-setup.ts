// The argument and the control messages of a plugin host's process.
import type { HostedPlugin, Runtime } from './plugin-host.ts';

/** The descriptor from which the host reads its key, and nothing else. */
export const keyFd = 0;
/** The descriptor of the pipe. */
export const pipeFd = 3;

/** The first argument, as JSON. */
export type HostSetup = {
  readonly name: string;
  readonly threads: number;
  readonly runtimes: readonly Runtime[];
  readonly isConcurrent: boolean;
  readonly runDirectory: string;
  /** The umask of the host and its plugins; absent: unchanged. */
  readonly umask?: number | undefined;
  /** A part of the names of the host's pid files. */
  readonly marksId: string;
};
/** The bodies of the messages with these names, which are packed on the wire. */
export type Configure = { readonly generation: number; readonly plugins: readonly HostedPlugin[] };
export type Stop = { readonly graceMs: number };
