// The type of the configuration: plain data that can be passed to any thread. `loadConfig` freezes it.

import type { Recurrence } from '../runtime/calendar/recurrence.ts';
import type { LogSizes } from '../runtime/commit-log/log-sizes.ts';
import type { LogFormat } from '../runtime/log.ts';
import type { JsonObject } from '../runtime/packing.ts';
import type { Sandbox } from '../runtime/processes/sandbox.ts';
import type { Path, PipelineDefinition, StepRetry } from './pipeline/definition.ts';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
export type ListenAddress = { readonly host: string; readonly port: number };

/** The absolute paths of the PEM files of a certificate and its key. */
export type TlsFiles = { readonly cert: string; readonly key: string };

/** How the traffic of a listener is protected. */
export type Protection = {
  /** The files of the certificate and its key. Absent: the listener uses plain HTTP. */
  readonly tls?: TlsFiles;
  /** Whether the operator declares that a proxy with TLS is in front of the listener. */
  readonly behindProxy?: true;
};

export type ApiToken = {
  readonly name: string | null;
  readonly token: string;
  readonly scopes: readonly string[];
  readonly expiresAtMs: number | null;
};

export type WebhookEndpoint = {
  readonly name: string;
  readonly path: string;
  /** The plugin that receives the deliveries, or the pipeline that they start; exactly one of the two is set. */
  readonly plugin?: string;
  readonly pipeline?: string;
  readonly secretRef: string;
  /** The name of the header with the signature, spelled as in the configuration; for `standard-webhooks` it is `webhook-signature`. */
  readonly signatureHeader: string;
  readonly bodyBytesMax: number;
  /**
   * Present if the endpoint follows Standard Webhooks. This scheme determines the names of the headers; each delivery must have a time and
   * an id, and the key must begin with `whsec_`.
   */
  readonly scheme?: 'standard-webhooks';
  /** The header with the signed time in Unix seconds, and how far that time may be off in either direction. */
  readonly timestamp?: { readonly header: string; readonly toleranceMs: number };
  /** The header with the id by which repeated deliveries are recognized. Each delivery must have this header. */
  readonly idHeader?: string;
  /** Present: integers beyond ±(2^53 − 1) become text. Absent: a delivery with such an integer is refused. */
  readonly bigIntegers?: 'text';
  /** The names of the headers that are copied from a delivery into its event. The event has them in this spelling. */
  readonly headers?: readonly string[];
  /** The type of the event; absent: `webhook.<name>`. */
  readonly event?: EventTemplate;
};

/**
 * A template for the type of an event. `written` is the text in the configuration; `parts` are the literal texts and the paths in that
 * text. A path leads to a value in the headers or the payload of a delivery, and this value replaces the path.
 */
export type EventTemplate = { readonly written: string; readonly parts: readonly (string | Path)[] };

export type CommandType = 'read' | 'write';

export type Command = {
  readonly name: string;
  readonly type: CommandType;
  readonly description: string | null;
  /** A full JSON Schema (the short form is expanded), or null. */
  readonly inputSchema: JsonObject | null;
  readonly outputSchema: JsonObject | null;
  readonly idempotent: boolean;
  readonly retrySafe: boolean;
  /** How many jobs of the command one thread or persistent process may run at once, unless the instance sets another number; absent: 1. */
  readonly concurrency?: number;
  /** Whether `state_updates` replace the plugin's state instead of being merged into it. */
  readonly replacesState?: true;
  readonly consume: readonly string[];
  readonly emit: readonly { readonly event: string; readonly values: readonly string[] }[];
};

export type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly protocol: number;
  readonly description: string;
  readonly dialect: 'headgate' | 'ductile';
  readonly runtime: 'worker' | 'process';
  /**
   * `directory` is the plugin's directory; `entrypoint` is a file inside it. Both are absolute paths with links resolved.
   */
  readonly directory: string;
  readonly entrypoint: string;
  readonly concurrencySafe: boolean;
  readonly commands: readonly Command[];
  readonly configKeys: { readonly required: readonly string[]; readonly optional: readonly string[] };
  /**
   * In strict mode: the SHA-256 in hex of every sealed file in the directory, by its relative path with links resolved. A file of the
   * directory outside node_modules is started, or loaded as a module, only if its hash is listed here. Files in node_modules are not sealed,
   * except an entrypoint.
   */
  readonly digests?: { readonly [path: string]: string };
  /** The minimum sandbox of the instances of a process plugin; absent: no sandbox is required. */
  readonly sandbox?: Sandbox['kind'];
  /**
   * Present for `mode: persistent`: a process runs many jobs, and is replaced after `jobsMax` jobs or after `ageMs`. Null means
   * no limit.
   */
  readonly persistent?: {
    readonly jobsMax: number | null;
    readonly ageMs: number | null;
    /** Whether the process reads `cancel` lines, which ask the process to stop the work on a request. */
    readonly hearsCancel?: boolean;
  };
};

export type RetryPolicy = Required<StepRetry>;

/** The default of each value of a retry policy. */
export const retryDefault: RetryPolicy = { attemptsMax: 4, backoffBaseMs: 5_000, backoffMaxMs: 600_000 };

/** An instance of a plugin: the manifest under a configured name, with its own config and state. */
export type PluginInstance = {
  readonly name: string;
  readonly manifest: Manifest;
  /**
   * Present if the instance has `uses`: the names in the chain of `uses`, from the value of this instance's `uses` to the plugin with the
   * manifest.
   */
  readonly bases?: readonly string[];
  readonly config: JsonObject;
  /**
   * How many jobs of the instance may run at once; null: as many as workers allow. The number is 1 if the manifest has
   * `concurrency_safe: false`.
   */
  readonly parallelism: number | null;
  /** By command: how many of its jobs one thread or persistent process may run at once. A command that is absent has 1. */
  readonly concurrency?: { readonly [command: string]: number };
  /** By command: the deadline of one attempt. Every command of the manifest has one. */
  readonly deadlineMs: { readonly [command: string]: number };
  readonly retry: RetryPolicy;
  /**
   * The plugin is paused for `forMs` when `failures` of its last `of` attempts have failed. Absent: failures never pause the
   * plugin.
   */
  readonly breaker?: { readonly failures: number; readonly of: number; readonly forMs: number };
  /** The sandbox of the instance's processes; absent: none. */
  readonly sandbox?: Sandbox;
};

/** Values of `if_running`: what happens to an occurrence while the job of the previous occurrence has not ended. */
export const overlapRules = ['skip', 'queue', 'replace', 'allow'] as const;
/** Values of `catch_up`: what happens to occurrences that were missed. */
export const catchUpRules = ['skip', 'run_once', 'run_all'] as const;

export type ScheduleDefinition = {
  readonly id: string;
  /** For an entry of the `schedules` of a plugin: the `schedule_id` in `GET /scheduler/jobs`. */
  readonly entryId?: string;
  readonly target: { readonly plugin: string; readonly command: string } | { readonly pipeline: string };
  readonly recurrence: Recurrence;
  readonly payload: JsonObject;
  /** The tags of the schedule's jobs; absent: the jobs have no tags. */
  readonly tags?: { readonly [key: string]: string };
  readonly jitterMs: number;
  readonly ifRunning: (typeof overlapRules)[number];
  readonly catchUp: (typeof catchUpRules)[number];
  readonly catchUpWithinMs: number;
  /** The schedule is paused after this many failures in a row; 0: never. */
  readonly pauseAfterFailures: number;
  /** Whether occurrences are skipped while the target is paused. Otherwise their jobs wait. */
  readonly skipsWhenPaused: boolean;
  readonly enabled: boolean;
};

export type Config = {
  /** The absolute path of the main file. */
  readonly mainFile: string;
  /** The paths of the main file and of every file that it includes, directly or through others, in the order of reading. */
  readonly files: readonly string[];
  readonly service: {
    readonly name: string;
    readonly logLevel: LogLevel;
    readonly strictMode: boolean;
    readonly workersMax: number;
    readonly queueDepthMax: number;
    /** At this number of delayed, paused or held jobs, new calls that may have to wait are refused. */
    readonly waitingMax: number;
    /** The maximum number of jobs that descend from one root. */
    readonly jobsPerRootMax: number;
    readonly pluginEnvPassthrough: readonly string[];
  };
  readonly log: {
    /** Null: `text` if stderr is a terminal, else `json`. */
    readonly format: LogFormat | null;
    /** Which jobs are logged when they end. Unless `none`, failed attempts are logged too. */
    readonly jobs: (typeof loggedJobs)[number];
    /** The maximum number of lines per minute, separately for jobs, control calls, refused deliveries, and calls that got 401 or 403. */
    readonly perMinute: number;
  };
  readonly state: {
    readonly path: string;
    /**
     * `heldMs`: how long a plugin or command that cannot run may hold its queued jobs. After that, these jobs fail. Jobs
     * that are held by a pause or by the vault do not fail.
     */
    readonly retention: { readonly jobsMs: number; readonly jobsMax: number; readonly heldMs: number };
    readonly log: LogSizes;
  };
  readonly api: Protection & {
    readonly enabled: boolean;
    /** The HTTP server of all listeners. */
    readonly server: (typeof servers)[number];
    readonly listen: ListenAddress;
    readonly bodyBytesMax: number;
    /** The maximum size of the body of a batch. */
    readonly batchBytesMax: number;
    readonly tokens: readonly ApiToken[];
  };
  readonly webhooks: Protection & {
    readonly listen: ListenAddress;
    readonly endpoints: readonly WebhookEndpoint[];
  };
  readonly metrics: {
    /** The address at which metrics are served without a token; null: metrics have no address of their own. */
    readonly listen: ListenAddress | null;
    /** The maximum number of series whose labels are names, for example of plugins, pipelines, schedules or routes. */
    readonly seriesMax: number;
  };
  readonly ui: {
    /** Whether the API listener serves the dashboard. */
    readonly enabled: boolean;
    /** The path of the dashboard, without a slash at its end. */
    readonly path: string;
  };
  /** The keys for webhook signatures, by the name that `secret_ref` of an endpoint refers to. */
  readonly tokens: { readonly [name: string]: string };
  readonly pluginRoots: readonly string[];
  /** The enabled instances by name, sorted. */
  readonly plugins: { readonly [instance: string]: PluginInstance };
  /** Instances with `enabled: false`. They cannot run, but they are shown (`config/view.ts`) and can be paused. */
  readonly disabledPlugins: { readonly [instance: string]: { readonly config: JsonObject } };
  /** The names of plugins that were found but cannot be used: they are broken, or lack required keys. `warnings` say why. */
  readonly unusablePlugins: readonly string[];
  readonly pipelines: readonly PipelineDefinition[];
  /** The entries of `schedules`, then the `schedules` of each enabled plugin. */
  readonly schedules: readonly ScheduleDefinition[];
  readonly vault: {
    readonly keyFile: string;
    /** How long records of the audit trail are kept; 0: without limit. */
    readonly auditRetentionMs: number;
    /** The directory to which records of the audit trail are exported before they are pruned; null: they are pruned without an export. */
    readonly auditExport: string | null;
  };
  readonly backups: {
    /** How often a backup is written; null: no backups are scheduled. */
    readonly everyMs: number | null;
    /** How many backups remain after a scheduled backup. Only backups whose names are times count. */
    readonly keep: number;
    /** The directory of the backups. */
    readonly into: string;
    /** Whether the commit log is copied to `into` as well. A state can then be restored as of a time. */
    readonly log: boolean;
  };
  /** Lines about broken plugins and other problems that do not prevent a start. */
  readonly warnings: readonly string[];
};

export const logFormats = ['json', 'text'] as const satisfies readonly LogFormat[];

export const loggedJobs = ['none', 'failed', 'all'] as const;

/** The values of the setting `api.server`: `auto` selects `uws` if it can be loaded, else `node`. */
export const servers = ['auto', 'uws', 'node'] as const;

type SectionName = 'service' | 'state' | 'api' | 'webhooks' | 'metrics' | 'ui' | 'vault' | 'backups';
/** The name of a value in one of these sections of `Config`, such as `service.workersMax`. */
export type SettingName = { [S in SectionName]: `${S}.${keyof Config[S] & string}` }[SectionName];

/**
 * The instance of this name, if there is one. The name may come from a request, so inherited properties such as `constructor` do not count.
 */
export function instanceNamed(config: Pick<Config, 'plugins'>, name: string): PluginInstance | undefined {
  return Object.hasOwn(config.plugins, name) ? config.plugins[name] : undefined;
}
