// The contract between the ledger thread and a plugin host: frames of tasks go out, outcomes come back.
import type { SystemClock } from '../../clock.ts';
import type { JsonObject } from '../../packing.ts';
import type { Parts } from '../../parted.ts';
import type { Sandbox } from '../../processes/sandbox.ts';
import type { Body } from './outcome.ts';

/** SHA-256 in hex of the files of a directory, by their path in it, links resolved. */
export type Digests = { readonly [path: string]: string };

export type HostedCommand = {
  /** JSON Schema of its payload (of `event.payload` for `handle`), or null. */
  readonly inputSchema: JsonObject | null;
  /** Its `state_updates` take the place of the plugin's state, instead of being laid over it. */
  readonly replacesState?: true;
};

export type PersistentMode = {
  readonly jobsMax: number | null;
  readonly ageMs: number | null;
  /** Whether it may be asked before it has answered. */
  readonly pipelined: boolean;
};

/** Code that threads load, or programs. */
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
  /** What is loaded or started from the directory must be this; left out: anything may be. */
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

/** What jobs that stand side by side in a frame have in common. */
export type TaskGroup = {
  readonly count: number;
  /** Packed map: the baggage. */
  readonly context: Uint8Array;
  readonly pipeline: string | null;
  readonly stepId: string | null;
  readonly depth: number;
  /** The envelope around the payload, for the command `handle`. eventId null: the job's id. */
  readonly event: {
    readonly type: string;
    readonly source: string;
    readonly eventId: string | null;
    readonly dedupeKey: string | null;
    /** Of a webhook whose endpoint names some. */
    readonly headers?: EventHeaders;
  } | null;
  /** When the jobs were created, in µs since the epoch: the envelope's timestamp. */
  readonly createdUs: number;
};

/** A batch of jobs of one instance and command, run one after another by one thread, or together by a runner. */
export type TaskFrame = {
  readonly frameId: number;
  /** Which thread or process of the command has its tasks under way together with those of other frames; left out, or -1: none. */
  readonly runner?: number;
  /** So many tasks may be under way there at once. */
  readonly concurrency?: number;
  readonly instance: string;
  readonly command: string;
  /** Each task may run so long. */
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
  readonly parts?: Parts;
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

/** What a host tells the ledger thread. Called from I/O callbacks: they only queue a message. */
export type HostListener = {
  /** Tasks of a frame that ended; a frame is over when all its tasks were answered or returned. */
  onOutcomes(frameId: number, outcomes: readonly Outcome[]): void;
  /**
   * Tasks that were never started, given back because a task before them is slow, the host is stopping, or was dead when they came.
   * `alone`: they had begun, and their runner was lost to another task.
   */
  onReturned(frameId: number, tasks: readonly number[], alone: boolean): void;
  /** The host process is gone, surely, and with it what was submitted before this call and is not told of. It is being started again. */
  onLost(reason: string): void;
  /** A thread was replaced (blocked, crashed or out of memory); for observation. */
  onThreadReplaced(reason: string): void;
};

export type HostOptions = {
  /** Shows in logs and in the process title. */
  readonly name: string;
  /** Threads, and programs at once. */
  readonly threads: number;
  /** Of the plugins that it is given. One without `worker` has no threads, and is a third of the size. */
  readonly runtimes: readonly Runtime[];
  /** For frames with runners alone; left out: for those without. */
  readonly isConcurrent?: boolean;
  /** For the marks of living plugin processes, by which survivors are found after a crash; and what sandboxed plugins write. */
  readonly runDirectory: string;
  /** Names of environment variables that plugins may see, besides the fixed allowlist. */
  readonly envPassthrough: readonly string[];
  /** Of plugins; left out, they have that of this process. */
  readonly umask?: number | undefined;
  readonly clock: SystemClock;
  readonly listener: HostListener;
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;
};

/** A running plugin host: a process of its own. */
export interface PluginHost {
  /** The plugins it may run; frames submitted from now on see them (code is loaded anew when the generation changes). */
  configure(generation: number, plugins: readonly HostedPlugin[]): void;
  /** Never waits: frames submitted before the process is up are sent when it is. */
  submit(frame: TaskFrame): void;
  /** Ends everything: tasks still running after `graceMs` are killed and not answered. Resolves when no process is left. */
  stop(graceMs: number): Promise<void>;
}
