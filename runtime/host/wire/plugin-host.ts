// The contract between the ledger thread and a plugin host: frames of tasks go out, outcomes come back.
import type { SystemClock } from '../../clock.ts';
import type { JsonObject } from '../../packing.ts';
import type { PartReader } from '../../parted.ts';
import type { Sandbox } from '../../processes/sandbox.ts';
import type { Body } from './outcome.ts';

/** SHA-256 in hex of the files of a directory, by their path in it, links resolved. */
export type Digests = { readonly [path: string]: string };

export type HostedCommand = {
  /** JSON Schema of its payload (of `event.payload` for `handle`), or null. */
  readonly inputSchema: JsonObject | null;
  /** Its `state_updates` replace the plugin's state instead of being merged into it. */
  readonly replacesState?: true;
};

export type PersistentMode = {
  /** It reads `{"cancel": id}` lines, and answers the request soon after. Left out: it is stopped. */
  readonly hearsCancel?: boolean;
  readonly jobsMax: number | null;
  readonly ageMs: number | null;
  /** Whether it may be sent a request before it has answered the last one. */
  readonly pipelined: boolean;
};

/** Code that threads load, or a program. */
export type Runtime = 'worker' | 'process';

/** A plugin instance as a host needs it; plain data. */
export type HostedPlugin = {
  readonly instance: string;
  /** The manifest's name, its dialect, and where its code is. */
  readonly plugin: string;
  readonly dialect: 'headgate' | 'ductile';
  readonly runtime: Runtime;
  readonly directory: string;
  readonly entrypoint: string;
  /** Only files with these digests may be loaded or started; left out: any file. */
  readonly digests?: Digests;
  /** A process stays for many jobs: how many, and how long; null: no limit. Left out: a process for each attempt. */
  readonly persistent?: PersistentMode;
  /** Left out: none. */
  readonly sandbox?: Sandbox;
  readonly config: JsonObject;
  readonly commands: { readonly [command: string]: HostedCommand };
};

/** Headers of a delivery, by the names that its endpoint gives them. */
export type EventHeaders = { readonly [name: string]: string };

/** What surrounds the payload of the command `handle`; its id is that of the job. */
export type EventEnvelope = {
  readonly type: string;
  readonly source: string;
  readonly dedupeKey: string | null;
  /** From a webhook whose endpoint names headers. */
  readonly headers?: EventHeaders;
};

/** What neighbouring jobs of a frame have in common. */
export type TaskGroup = {
  readonly count: number;
  /** Packed map: the baggage. */
  readonly context: Uint8Array;
  readonly pipeline: string | null;
  readonly stepId: string | null;
  readonly depth: number;
  /** For the command `handle`. */
  readonly event: EventEnvelope | null;
  /** When the jobs were created, in µs since the epoch: the envelope's timestamp. */
  readonly createdUs: number;
};

/** A batch of jobs of one instance and command, run one after another by one thread, or together by a runner. */
export type TaskFrame = {
  readonly frameId: number;
  /** The thread or process of the command that runs its tasks concurrently with those of other frames; left out, or -1: none. */
  readonly runner?: number;
  /** How many tasks may run there at once. */
  readonly concurrency?: number;
  readonly instance: string;
  readonly command: string;
  /** The time limit of each task. */
  readonly deadlineMs: number;
  /** Packed map: the plugin state as of the dispatch; tasks of the frame see the updates of those before them. */
  readonly state: Uint8Array;
  /** Packed map of name to value; left out when nothing was granted. */
  readonly secrets?: Uint8Array | undefined;
  readonly groups: readonly TaskGroup[];
  /** 16 bytes a task. */
  readonly ids: Uint8Array;
  readonly attempts: readonly number[];
  /** Packed payloads; some may be in parts. */
  readonly payloads: readonly Uint8Array[];
  /** Finds these, once the commit is done that brought them; left out: there are none. */
  readonly parts?: PartReader;
};

export const verdicts = ['ok', 'error', 'timed_out'] as const;
export type Verdict = (typeof verdicts)[number];

/** How one task of a frame ended. A `retry: false` or a permanent failure has `permanent`. */
export type Outcome = {
  /** Place in the frame. */
  readonly task: number;
  readonly verdict: Verdict;
  readonly permanent: boolean;
  /** µs since the epoch, and the time it ran. */
  readonly startedUs: number;
  readonly runUs: number;
  readonly body: Body;
};

/** What a host reports to the ledger thread. Called from I/O callbacks: they only queue a message. */
export type HostListener = {
  /** Tasks of a frame that ended; a frame is over when all its tasks were answered or returned. */
  onOutcomes(frameId: number, outcomes: readonly Outcome[]): void;
  /**
   * Tasks that were never started, given back because a task before them is slow, the host is stopping, or was dead when they came.
   * `alone`: they had begun, and their runner was lost to another task.
   */
  onReturned(frameId: number, tasks: readonly number[], alone: boolean): void;
  /**
   * The host was told to cancel the task, and has it not among those that it has yet to begin: it is being stopped, or has ended. If it
   * had not begun, it was given back before this.
   */
  onCancelling(frameId: number, task: number): void;
  /** The host process has ended, and with it all tasks submitted before this call that were not reported. It is being restarted. */
  onLost(reason: string): void;
  /** A thread was replaced (blocked, crashed or out of memory); for observation. */
  onThreadReplaced(reason: string): void;
};

export type HostOptions = {
  /** Shows in logs and in the process title. */
  readonly name: string;
  /** Threads, and programs at once. */
  readonly threads: number;
  /** The runtimes of its plugins. A host without `worker` has no threads, and is a third of the size. */
  readonly runtimes: readonly Runtime[];
  /** The host takes only frames with runners; left out: only frames without. */
  readonly isConcurrent?: boolean;
  /** For pid files, by which surviving processes are found after a crash; and for files that sandboxed plugins write. */
  readonly runDirectory: string;
  /** Names of environment variables that plugins may see, besides the fixed allowlist. */
  readonly envPassthrough: readonly string[];
  /** The plugins' umask; left out: that of this process. */
  readonly umask?: number | undefined;
  readonly clock: SystemClock;
  readonly listener: HostListener;
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;
};

/** A running plugin host: a process of its own. */
export interface PluginHost {
  /** Sets the plugins for frames submitted from now on. Code is loaded again when the generation changes. */
  configure(generation: number, plugins: readonly HostedPlugin[]): void;
  /** Never waits: frames submitted before the process is up are sent when it is. */
  submit(frame: TaskFrame): void;
  /**
   * Stops a task: one that has not begun is given back, with those behind it; the code of one that runs is told, and ended if that does
   * not help. A host that confirms nothing for `confirmMsMax` is killed.
   */
  cancel(frameId: number, task: number, reason: string): void;
  /** Ends everything: tasks still running after `graceMs` are killed and get no outcome. Resolves when no process is left. */
  stop(graceMs: number): Promise<void>;
}
