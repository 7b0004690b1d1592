// The whole configuration after loading and checking: plain frozen data that any thread can hold.

import type { LogFormat } from '../runtime/log.ts';
import type { JsonObject } from '../runtime/packing.ts';
import type { Sandbox } from '../runtime/processes/sandbox.ts';
import type { Path, PipelineDefinition } from './pipeline/definition.ts';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
export type ListenAddress = { readonly host: string; readonly port: number };

/** Absolute paths of PEM files. */
export type TlsFiles = { readonly cert: string; readonly key: string };

/** Of a listener: what stands between it and other machines. */
export type Protection = {
  /** It speaks HTTPS; left out: HTTP. */
  readonly tls?: TlsFiles;
  /** A proxy with TLS is said to stand in front. */
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
  /** What its deliveries are handed to: one of the two. */
  readonly plugin?: string;
  readonly pipeline?: string;
  readonly secretRef: string;
  /** As written; of `standard-webhooks` it is `webhook-signature`. */
  readonly signatureHeader: string;
  readonly bodyBytesMax: number;
  /** Fixed headers, a `whsec_` key, and both guards below are set. */
  readonly scheme?: 'standard-webhooks';
  /** The header with the Unix seconds that are signed too, and how far they may be off, both ways. */
  readonly timestamp?: { readonly header: string; readonly toleranceMs: number };
  /** The header with the id by which repeats are known; required of senders once it is set. */
  readonly idHeader?: string;
  /** An integer that a double cannot hold exactly is read as text; absent: the delivery is refused. */
  readonly bigIntegers?: 'text';
  /** Names of headers that go into the event, as they are called there. */
  readonly headers?: readonly string[];
  /** The type of the event; left out: `webhook.<name>`. */
  readonly event?: EventTemplate;
};

/** Text, and paths into `headers` and `payload` whose values are put in. */
export type EventTemplate = { readonly written: string; readonly parts: readonly (string | Path)[] };

export type CommandType = 'read' | 'write';

export type Command = {
  readonly name: string;
  readonly type: CommandType;
  readonly description: string | null;
  /** Full JSON Schema (the short form is expanded), or null. */
  readonly inputSchema: JsonObject | null;
  readonly outputSchema: JsonObject | null;
  readonly idempotent: boolean;
  readonly retrySafe: boolean;
  /** So many jobs of it may be under way at once in one thread or persistent process; left out: 1. */
  readonly concurrency?: number;
  /** Its `state_updates` take the place of the plugin's state, instead of being laid over it. */
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
  /** Absolute; inside `directory` once links are resolved. */
  readonly directory: string;
  readonly entrypoint: string;
  readonly concurrencySafe: boolean;
  readonly commands: readonly Command[];
  readonly configKeys: { readonly required: readonly string[]; readonly optional: readonly string[] };
  /**
   * In strict mode: SHA-256 in hex of every sealed file of the directory, by its path in it, links resolved. What is
   * loaded or started from there must be this; what lies in node_modules is not sealed.
   */
  readonly digests?: { readonly [path: string]: string };
  /** What a process plugin asks for at least; left out: none. */
  readonly sandbox?: Sandbox['kind'];
  /** `mode: persistent`: a process serves many jobs, recycled after so many or so long. */
  readonly persistent?: { readonly jobsMax: number | null; readonly ageMs: number | null };
};

export type RetryPolicy = {
  readonly attemptsMax: number;
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
};

/** Of a plugin whose configuration sets none. */
export const retryDefault: RetryPolicy = { attemptsMax: 4, backoffBaseMs: 5_000, backoffMaxMs: 600_000 };

/** A plugin as jobs see it: a manifest under an instance name, with its own config and state. */
export type PluginInstance = {
  readonly name: string;
  readonly manifest: Manifest;
  readonly config: JsonObject;
  /** How many jobs of it may run at once; null: no limit but the workers. 1 for `concurrency_safe: false`. */
  readonly parallelism: number | null;
  /** Command -> how many jobs of it may be under way in one thread or persistent process; one that is left out: 1. */
  readonly concurrency?: { readonly [command: string]: number };
  /** Command -> deadline of one attempt; every command of the manifest has one. */
  readonly deadlineMs: { readonly [command: string]: number };
  readonly retry: RetryPolicy;
  /** What its processes run in; left out: none. */
  readonly sandbox?: Sandbox;
};

export type Config = {
  /** Absolute path of the main file, and of every file of the include closure in the order of reading. */
  readonly mainFile: string;
  readonly files: readonly string[];
  readonly service: {
    readonly name: string;
    readonly logLevel: LogLevel;
    readonly strictMode: boolean;
    readonly workersMax: number;
    readonly queueDepthMax: number;
    /** Jobs that are held or wait for their next attempt. */
    readonly waitingMax: number;
    readonly jobsPerRootMax: number;
    readonly pluginEnvPassthrough: readonly string[];
  };
  readonly log: {
    /** Null: `text` where stderr is a terminal, else `json`. */
    readonly format: LogFormat | null;
    /** Of which jobs the log tells the end. */
    readonly jobs: (typeof loggedJobs)[number];
    /** Lines about jobs, refused deliveries and refused calls: of each so many a minute. */
    readonly perMinute: number;
  };
  readonly state: {
    readonly path: string;
    /** `heldMs`: for so long a job is held, then it fails. */
    readonly retention: { readonly jobsMs: number; readonly jobsMax: number; readonly heldMs: number };
  };
  readonly api: Protection & {
    readonly enabled: boolean;
    /** What serves HTTP, on both listeners. */
    readonly server: (typeof servers)[number];
    readonly listen: ListenAddress;
    readonly bodyBytesMax: number;
    readonly tokens: readonly ApiToken[];
  };
  readonly webhooks: Protection & {
    readonly listen: ListenAddress;
    readonly endpoints: readonly WebhookEndpoint[];
  };
  /** secret_ref -> key. */
  readonly tokens: { readonly [name: string]: string };
  readonly pluginRoots: readonly string[];
  /** Enabled instances by name, sorted. */
  readonly plugins: { readonly [instance: string]: PluginInstance };
  /** Those with `enabled: false`, for the view of the configuration alone: nothing can be run of them. */
  readonly disabledPlugins: { readonly [instance: string]: { readonly config: JsonObject } };
  readonly pipelines: readonly PipelineDefinition[];
  readonly vault: {
    readonly keyFile: string;
    /** For so long the audit trail is kept; 0: for ever. */
    readonly auditRetentionMs: number;
    /** The directory that pruned records of the trail are written to first; null: none. */
    readonly auditExport: string | null;
  };
  /** Broken plugins and other things that stop nothing. */
  readonly warnings: readonly string[];
};

/** Values of `log.format`. */
export const logFormats = ['json', 'text'] as const satisfies readonly LogFormat[];

/** Values of `log.jobs`. */
export const loggedJobs = ['none', 'failed', 'all'] as const;

/** Values of `api.server`: `auto` is `uws` where it can be loaded, else `node`. */
export const servers = ['auto', 'uws', 'node'] as const;

type SectionName = 'service' | 'state' | 'api' | 'webhooks' | 'vault';
/** A value of a section of `Config`, such as `service.workersMax`. */
export type SettingName = { [S in SectionName]: `${S}.${keyof Config[S] & string}` }[SectionName];

/** The instance of a name that came from outside: `constructor` and the like are no instances. */
export function instanceNamed(config: Config, name: string): PluginInstance | undefined {
  return Object.hasOwn(config.plugins, name) ? config.plugins[name] : undefined;
}
