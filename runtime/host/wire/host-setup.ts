// The argument and the descriptors of a plugin host's process, and two of its control messages.
import type { HostedPlugin, HostOptions } from './plugin-host.ts';

/** The descriptor from which the host reads its key (message.ts). */
export const keyFd = 0;
/** The descriptor of the pipe from which the host reads the messages of the ledger thread. */
export const toHostFd = 3;
/** The descriptor of the pipe to which the host writes its messages for the ledger thread. */
export const fromHostFd = 4;

/** The first argument of the process, as JSON. */
export type HostSetup = Pick<HostOptions, 'name' | 'threads' | 'runtimes' | 'runDirectory' | 'umask'> & {
  readonly isConcurrent: boolean;
  /** The id of the host, which is a part of the names of its pid files (PidFiles). */
  readonly marksId: string;
};
/** The bodies of the messages `configure` and `stop`. On the wire they are packed. */
export type Configure = { readonly generation: number; readonly plugins: readonly HostedPlugin[] };
export type Stop = { readonly graceMs: number };
