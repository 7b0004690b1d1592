// The contract between the ledger thread and a plugin host: frames of tasks in, outcomes out.
import type { SystemClock } from '../../clock.ts';
import type { JsonObject } from '../../packing.ts';
import type { PartReader } from '../../parted.ts';
import type { Sandbox } from '../../processes/sandbox.ts';
import type { Body } from './outcome.ts';

/** SHA-256 in hex of the files of a directory, by path relative to it, with links resolved. */
export type Digests = { readonly [path: string]: string };

export type HostedCommand = {
  /** JSON Schema of its payload (of `event.payload` for `handle`), or null. */
  readonly inputSchema: JsonObject | null;
  /** Whether `state_updates` replace the plugin's state instead of being merged into it. */
  readonly replacesState?: true;
};

export type PersistentMode = {
  /** The process understands `{"cancel": id}` lines, and then answers the request soon. Absent: the process is stopped. */
  readonly hearsCancel?: boolean;
  readonly jobsMax: number | null;
  readonly ageMs: number | null;
  /** Whether the process may receive a request before it has answered the previous one. */
  readonly pipelined: boolean;
};

/** `worker`: code that threads load. `process`: a program. */
export type Runtime = 'worker' | 'process';

/** A plugin instance as plain data, in the form that a host needs. */
export type HostedPlugin = {
  readonly instance: string;
  /** The name in the manifest, its dialect, and the location of the code. */
  readonly plugin: string;
  readonly dialect: 'headgate' | 'ductile';
  readonly runtime: Runtime;
  readonly directory: string;
  readonly entrypoint: string;
  /** Only files with these digests may be loaded or started; absent: any file. */
  readonly digests?: Digests;
  /** How many jobs a process may run, and for how long it stays; null: no limit. Absent: each attempt has a process of its own. */
  readonly persistent?: PersistentMode;
  /** Absent: none. */
  readonly sandbox?: Sandbox;
  readonly config: JsonObject;
  readonly commands: { readonly [command: string]: HostedCommand };
};

/** The headers of a delivery, under the names that its endpoint gives them. */
export type EventHeaders = { readonly [name: string]: string };

/** The envelope around the payload of the command `handle`. Its id is that of the job. */
export type EventEnvelope = {
  readonly type: string;
  readonly source: string;
  readonly dedupeKey: string | null;
  /** Only from a webhook whose endpoint lists headers. */
  readonly headers?: EventHeaders;
};

/** The fields that neighbouring jobs of a frame have in common. */
export type TaskGroup = {
  readonly count: number;
  /** Packed map: the baggage. */
  readonly context: Uint8Array;
  readonly pipeline: string | null;
  readonly stepId: string | null;
  readonly depth: number;
  /** Only for the command `handle`. */
  readonly event: EventEnvelope | null;
  /** When the jobs were created, in µs since the epoch: the timestamp of the envelope. */
  readonly createdUs: number;
};

/** A batch of jobs of one instance and command, which a thread runs one after another, or a runner concurrently. */
export type TaskFrame = {
  readonly frameId: number;
  /** The number of the thread or process that runs its tasks concurrently with those of other frames; absent or -1: none. */
  readonly runner?: number;
  /** How many tasks that runner may have in progress at once. */
  readonly concurrency?: number;
  readonly instance: string;
  readonly command: string;
  /** The time limit of each task. */
  readonly deadlineMs: number;
  /** Packed map: the plugin's state at dispatch. Each task also sees the updates of earlier tasks of the frame. */
  readonly state: Uint8Array;
  /** Packed map of names to values; absent: none were granted. */
  readonly secrets?: Uint8Array | undefined;
  readonly groups: readonly TaskGroup[];
  /** 16 bytes per task. */
  readonly ids: Uint8Array;
  readonly attempts: readonly number[];
  /** Packed payloads, some possibly in parts. */
  readonly payloads: readonly Uint8Array[];
  /** Reads the parts of such payloads, after the commit that wrote them; absent: no payload is in parts. */
  readonly parts?: PartReader;
};

export const verdicts = ['ok', 'error', 'timed_out'] as const;
export type Verdict = (typeof verdicts)[number];

/** How one task of a frame ended. `permanent`: a response with `retry: false`, or another failure that must not be retried. */
export type Outcome = {
  /** The position in the frame. */
  readonly task: number;
  readonly verdict: Verdict;
  readonly permanent: boolean;
  /** µs since the epoch, and the running time. */
  readonly startedUs: number;
  readonly runUs: number;
  readonly body: Body;
};

/** Receives the reports of a host. Called from I/O callbacks, so each method only queues a message. */
export type HostListener = {
  /** Tasks that have ended. A frame is complete when all its tasks were answered or returned. */
  onOutcomes(frameId: number, outcomes: readonly Outcome[]): void;
  /**
   * Tasks that the host returns: a task before them is slow, the host is stopping, or it was dead when they arrived. `alone`: they had
   * begun, and their runner was lost because of another task; otherwise they never started.
   */
  onReturned(frameId: number, tasks: readonly number[], alone: boolean): void;
  /**
   * The host confirms that it does not have the task waiting any more: the task is being stopped, has ended, or was returned before
   * this call.
   */
  onCancelling(frameId: number, task: number): void;
  /** The host process has ended, and with it all unreported tasks that were submitted before this call. It is being restarted. */
  onLost(reason: string): void;
  /** A thread was replaced because it blocked, crashed or ran out of memory. For observation only. */
  onThreadReplaced(reason: string): void;
};

export type HostOptions = {
  /** Appears in logs and in the process title. */
  readonly name: string;
  /** The number of threads, and of programs that run at once. */
  readonly threads: number;
  /** The runtimes of its plugins. A host without `worker` has no threads, and needs a third of the memory. */
  readonly runtimes: readonly Runtime[];
  /** The host takes only frames with runners; absent: only frames without. */
  readonly isConcurrent?: boolean;
  /** For the pid files that identify surviving processes after a crash, and for files that sandboxed plugins write. */
  readonly runDirectory: string;
  /** Names of environment variables that plugins may see, in addition to the fixed list. */
  readonly envPassthrough: readonly string[];
  /** The umask of plugins; absent: that of this process. */
  readonly umask?: number | undefined;
  readonly clock: SystemClock;
  readonly listener: HostListener;
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;
};

/** A running plugin host: a process of its own. */
export interface PluginHost {
  /** Sets the plugins of frames submitted from now on. A new generation loads code again. */
  configure(generation: number, plugins: readonly HostedPlugin[]): void;
  /** Never waits: frames are sent when the process is up. */
  submit(frame: TaskFrame): void;
  /**
   * Stops a task. If it has not begun, it is returned, with those behind it. If it is running, its code is informed, and ended if it
   * does not react. A host that does not confirm within `confirmMsMax` is killed.
   */
  cancel(frameId: number, task: number, reason: string): void;
  /** Ends everything. Tasks that are still running after `graceMs` are killed without an outcome. Resolves when no process is left. */
  stop(graceMs: number): Promise<void>;
}
