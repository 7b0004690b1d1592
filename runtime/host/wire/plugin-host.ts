// The contract between the ledger thread and a plugin host: frames of tasks in, outcomes out.
import type { SystemClock } from '../../clock.ts';
import type { JsonObject } from '../../packing.ts';
import type { PartReader } from '../../parted.ts';
import type { Sandbox } from '../../processes/sandbox.ts';
import type { Body } from './outcome.ts';

/** The SHA-256 of files in a directory, in hex, by each file's path in the directory. Links in the path are resolved. */
export type Digests = { readonly [path: string]: string };

export type HostedCommand = {
  /** The JSON Schema of the command's payload (for `handle`: of `event.payload`); null if the command has no schema. */
  readonly inputSchema: JsonObject | null;
  /** Whether `state_updates` replace the plugin's state instead of being merged into it. */
  readonly replacesState?: true;
};

export type PersistentMode = {
  /** Whether the process reads lines `{"cancel": id}` and then soon answers the request with this id. False: a cancel stops the process. */
  readonly hearsCancel?: boolean;
  /** How many jobs a process may run; null: no limit. */
  readonly jobsMax: number | null;
  /** How long after its start a process may get new frames; null: no limit. */
  readonly ageMs: number | null;
  /** Whether the process may receive a request before it has answered the previous one. */
  readonly pipelined: boolean;
};

/** `worker`: threads of a host load the plugin's code. `process`: a host starts the plugin's program. */
export type Runtime = 'worker' | 'process';

/** A plugin instance as plain data, in the form that a host needs. */
export type HostedPlugin = {
  readonly instance: string;
  /** The plugin's name in its manifest. */
  readonly plugin: string;
  readonly dialect: 'headgate' | 'ductile';
  readonly runtime: Runtime;
  readonly directory: string;
  readonly entrypoint: string;
  /** Set if the plugin is sealed: its code is compared with these digests before it is loaded or started (digests.ts). */
  readonly digests?: Digests;
  /** Set if a process runs several jobs. Absent: each attempt has a process of its own. */
  readonly persistent?: PersistentMode;
  readonly sandbox?: Sandbox;
  readonly config: JsonObject;
  readonly commands: { readonly [command: string]: HostedCommand };
};

/** The headers of a webhook delivery that its endpoint lists, by their names as the endpoint's configuration spells them. */
export type EventHeaders = { readonly [name: string]: string };

/** The envelope around the payload of the command `handle`. The event's id is the id of the job. */
export type EventEnvelope = {
  readonly type: string;
  readonly source: string;
  readonly dedupeKey: string | null;
  /** Only for a delivery to a webhook endpoint that lists headers. */
  readonly headers?: EventHeaders;
};

/** The fields that neighbouring tasks of a frame have in common. */
export type TaskGroup = {
  readonly count: number;
  /** The baggage, a packed map. */
  readonly context: Uint8Array;
  readonly pipeline: string | null;
  readonly stepId: string | null;
  readonly depth: number;
  /** Null for every command except `handle`. */
  readonly event: EventEnvelope | null;
  /** When the jobs were created, in µs since the epoch. This is also the timestamp of the envelope. */
  readonly createdUs: number;
};

/** Jobs of one plugin instance and command that are sent to a host together. They run one after another or, on a runner, concurrently. */
export type TaskFrame = {
  readonly frameId: number;
  /** The number of the runner (a thread or process that runs tasks of several frames concurrently); absent or -1: no runner. */
  readonly runner?: number;
  /** The number of tasks that the runner may have in progress at once. */
  readonly concurrency?: number;
  readonly instance: string;
  readonly command: string;
  /** The time limit of each task. */
  readonly deadlineMs: number;
  /** The plugin's state at dispatch, a packed map. Each task also sees the updates of earlier tasks of the frame, except on a runner. */
  readonly state: Uint8Array;
  /** The plugin's secrets: a packed map of names to values. Absent if the plugin is granted none. */
  readonly secrets?: Uint8Array | undefined;
  readonly groups: readonly TaskGroup[];
  /** The job ids, 16 bytes per task. */
  readonly ids: Uint8Array;
  readonly attempts: readonly number[];
  /** The packed payloads. Some may be values in parts (runtime/parted.ts). */
  readonly payloads: readonly Uint8Array[];
  /**
   * Reads the parts of payloads that are values in parts. Used only after the commit that writes these parts. Absent: no payload is a value
   * in parts.
   */
  readonly parts?: PartReader;
};

export const verdicts = ['ok', 'error', 'timed_out'] as const;
export type Verdict = (typeof verdicts)[number];

/** How a task of a frame ended. `permanent`: the task has failed and must not be retried, for example because of `retry: false`. */
export type Outcome = {
  readonly task: number;
  readonly verdict: Verdict;
  readonly permanent: boolean;
  /** When the task began, in µs: on the ledger thread since the epoch, in a host as a steady time (clock.ts). */
  readonly startedUs: number;
  readonly runUs: number;
  readonly body: Body;
};

/**
 * Why a host returns a task:
 * - `crowded`: an earlier task of its frame is slow, its plugin's code loads slowly, or no thread or process was free to run its frame.
 *   The task has not begun.
 * - `interrupted`: the task, or another task of its frame, was cancelled; its thread or process has ended or takes no more tasks; the host
 *   no longer has the configuration of its frame, is stopping, or died before it received the whole frame. The task has not begun.
 * - `begun`: the task may have begun, and its thread or process has ended, perhaps because of another task. It must run alone the next time.
 */
export const returnReasons = ['crowded', 'interrupted', 'begun'] as const;
export type ReturnReason = (typeof returnReasons)[number];

/** Receives the reports of a host. The methods may be called outside of a turn, so they only queue messages. */
export type HostListener = {
  /** Reports tasks that have ended. A frame is complete when each of its tasks has ended or was returned. */
  onOutcomes(frameId: number, outcomes: readonly Outcome[]): void;
  /** Reports tasks that the host returns. */
  onReturned(frameId: number, tasks: readonly number[], reason: ReturnReason): void;
  /** Reports that the host confirms a cancel: the task has ended or was returned, or it will be returned or stopped. */
  onCancelling(frameId: number, task: number): void;
  /** Reports that the host's process has ended, and with it all its unreported tasks. Another process will be started. */
  onLost(reason: string): void;
  /** Reports that a plugin thread was replaced. The listener need not react. */
  onThreadReplaced(reason: string): void;
};

/** The levels of the log lines of hosts, and of the threads of the service. */
export const hostLogLevels = ['debug', 'info', 'warn', 'error'] as const;
export type HostLogLevel = (typeof hostLogLevels)[number];

export type HostOptions = {
  /** The name of the host in logs and in the process title. */
  readonly name: string;
  /**
   * In a host without runners: how many worker frames may run at once, and also how many program frames. In a host with runners, only the
   * heap limit of each thread depends on this number.
   */
  readonly threads: number;
  /** The runtimes of the host's plugins. A host without `worker` has no plugin threads, and needs a third of the memory. */
  readonly runtimes: readonly Runtime[];
  /** Whether the host takes only frames with runners. If not, it takes only frames without runners. */
  readonly isConcurrent?: boolean;
  /** The directory for pid files, which identify processes that survive a crash, and for files that sandboxed plugins write. */
  readonly runDirectory: string;
  /** The names of environment variables that plugins may see, in addition to the usual ones (client/environment.ts). */
  readonly envPassthrough: readonly string[];
  /** The umask of plugins. Absent: plugins have the umask of the service. */
  readonly umask?: number | undefined;
  readonly clock: SystemClock;
  readonly listener: HostListener;
  readonly log: (level: HostLogLevel, message: string, fields?: Record<string, unknown>) => void;
};

/** A plugin host: a process that runs plugin code. If it dies, another process is started in its place. */
export interface PluginHost {
  /**
   * Sets the plugins for frames that are submitted from now on. If `generation` or `plugins` have changed, these frames get new threads and
   * persistent processes.
   */
  configure(generation: number, plugins: readonly HostedPlugin[]): void;
  /** Submits a frame. Returns at once: the frame is sent as soon as a process is up. */
  submit(frame: TaskFrame): void;
  /**
   * Cancels a task. A task that has not begun is returned. In a frame without a runner, all other tasks that have not begun are returned,
   * too. The code of a running task is notified of the cancel, and is stopped if it cannot be notified or does not react. A host that does
   * not confirm the cancel within `confirmMsMax` (client/host.ts) is killed.
   */
  cancel(frameId: number, task: number, reason: string): void;
  /** Ends the host. Tasks that still run after `graceMs` are killed without an outcome. Resolves when no process is left. */
  stop(graceMs: number): Promise<void>;
}
