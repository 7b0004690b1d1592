// A server on port 0 over an engine in memory, and the small configuration that its tests share.

import { startHub } from '../../actors/hub/actor.ts';
import { StopwatchReading, type Window } from '../../actors/index/stopwatch-view.ts';
import type { JobView } from '../../actors/job/job-view.ts';
import type { JobPage } from '../../actors/job/listing.ts';
import type { SubmitReply } from '../../actors/job/protocol.ts';
import type { Status } from '../../actors/job/record.ts';
import type { ApiToken, Command, Config, PluginInstance } from '../../config/config.ts';
import type { PipelineDefinition, Step } from '../../config/pipeline/definition.ts';
import type { Administration } from '../../http/administration.ts';
import { makeAuthenticate } from '../../http/auth.ts';
import type { Engine, LogPage, OnOver, RunSubmission, Submission } from '../../http/engine.ts';
import { EventStreams } from '../../http/event-streams.ts';
import type { RequestLine } from '../../http/log.ts';
import type { Route } from '../../http/route.ts';
import { makeRouteTable } from '../../http/route-table.ts';
import { apiRoutes } from '../../http/routes/api.ts';
import { type Server, serve } from '../../http/server.ts';
import type { VaultDoor } from '../../http/vault-door.ts';
import { encodeBody } from '../../runtime/host/outcome.ts';
import { formatId, type JobId, jobId, makeBlockKeys } from '../../runtime/ids.ts';
import { type JsonObject, pack } from '../../runtime/packing.ts';
import { openMemoryIndex } from '../../runtime/store/memory.ts';

export const bodyBytesMax = 100_000;

const sizeSchema: JsonObject = {
  type: 'object',
  properties: { width: { type: 'integer' }, name: { type: 'string', pattern: '^(a+)+$' } },
  required: ['width'],
  additionalProperties: false,
};

function command(name: string, type: Command['type'], inputSchema: JsonObject | null = null): Command {
  const common = { description: null, outputSchema: null, idempotent: false, retrySafe: true, consume: [], emit: [] };
  return { name, type, inputSchema, ...common };
}

const echo: PluginInstance = {
  name: 'echo',
  manifest: {
    name: 'echo',
    version: '1.0.0',
    protocol: 2,
    description: 'Echoes.',
    dialect: 'headgate',
    runtime: 'worker',
    directory: '/plugins/echo',
    entrypoint: 'index.js',
    concurrencySafe: true,
    commands: [command('handle', 'write'), command('look', 'read'), command('size', 'write', sizeSchema)],
    configKeys: { required: [], optional: [] },
  },
  config: {},
  parallelism: null,
  deadlineMs: {},
  retry: { attemptsMax: 4, backoffBaseMs: 5000, backoffMaxMs: 600_000 },
};

function uses(id: string): Step {
  const none = { if: null, onError: 'fail', join: null, foreach: null, with: null, baggage: [] } as const;
  return { kind: 'uses', id, instance: 'echo', command: 'handle', ...none };
}

const split: Step = {
  kind: 'split',
  id: 'split',
  if: null,
  onError: 'fail',
  join: null,
  branches: [
    { name: 'left', steps: [uses('left')] },
    { name: 'right', steps: [uses('right')] },
  ],
};

export function pipeline(name: string, executionMode: PipelineDefinition['executionMode'], steps: readonly Step[]) {
  return { name, on: name, onHook: null, executionMode, timeoutMs: 200, if: null, steps };
}

export const tokens: readonly ApiToken[] = [
  { name: 'root', token: 'root-token', scopes: ['*'], expiresAtMs: null },
  { name: null, token: 'nameless-token', scopes: ['*'], expiresAtMs: null },
  { name: 'old', token: 'old-token', scopes: ['*'], expiresAtMs: 1 },
  { name: 'none', token: 'none-token', scopes: ['system:ro'], expiresAtMs: null },
  ...['plugin:ro', 'plugin:rw', 'plugin:catalog:ro', 'jobs:ro', 'jobs:rw', 'jobs:status:ro', 'jobs:tree:ro'].map(
    scope => ({ name: scope, token: `token-${scope}`, scopes: [scope], expiresAtMs: null }),
  ),
  { name: 'status+result', token: 'token-both', scopes: ['jobs:status:ro', 'jobs:result:ro'], expiresAtMs: null },
];

export function makeConfig(): Config {
  return {
    mainFile: '/etc/headgate/config.yaml',
    files: [],
    service: {
      name: 'headgate',
      logLevel: 'debug',
      strictMode: false,
      workersMax: 2,
      queueDepthMax: 100,
      pluginEnvPassthrough: [],
    },
    state: { path: '/data', retention: { jobsMs: 1, jobsMax: 1 } },
    api: { enabled: true, listen: { host: '127.0.0.1', port: 0 }, bodyBytesMax, tokens },
    webhooks: { listen: { host: '127.0.0.1', port: 0 }, endpoints: [] },
    tokens: {},
    pluginRoots: [],
    plugins: { echo },
    pipelines: [
      pipeline('later', 'asynchronous', [uses('one')]),
      pipeline('now', 'synchronous', [uses('one')]),
      pipeline('forked', 'synchronous', [split]),
      { ...pipeline('patient', 'synchronous', [uses('one')]), timeoutMs: 600_000 },
    ],
    vault: { keyFile: '/data/vault.key' },
    warnings: [],
  } as unknown as Config;
}

const startedAtMs = 1_700_000_000_000;

export class MemoryEngine implements Engine {
  readonly #keys = makeBlockKeys(() => 7);
  readonly #config = makeConfig();
  readonly jobs = new Map<string, JobView>();
  readonly submissions: Submission[] = [];
  readonly runs: RunSubmission[] = [];
  readonly unwatched: string[] = [];
  /** What the next submissions are answered with, instead of being taken. */
  refusal: (SubmitReply & { kind: 'refused' })['refusal'] | null = null;
  isStopping = false;
  /** Called with every run that is waited for. */
  onWatched: (id: JobId, settled: () => void) => void = () => {};
  /** The pages of any tree, when set. */
  pages: (() => readonly JobView[]) | null = null;
  readonly startedAtMs = startedAtMs;
  readonly version = '0.1.0';
  readonly hub = startHub();
  readonly index = openMemoryIndex();
  readonly events = new EventStreams({ hub: this.hub, nowMs: Date.now, generation: () => this.#config });
  readonly administration: Administration = {
    reload: () => ({ kind: 'reloaded', atUs: startedAtMs * 1000, kept: [] }),
    queue: async () => ({ kind: 'refused', refusal: 'unavailable' }),
    summary: () => ({ queued: 0, running: 0, succeeded: 0, failed: 0, timed_out: 0, dead: 0 }),
    doctor: async () => [],
    selfcheck: async () => ({ invariantsChecked: 0, failures: [], detail: '' }),
  };

  /** There is none. */
  readonly vault: VaultDoor = {
    adminDigest: null,
    call: async () => ({ kind: 'refused', refusal: 'vault_unavailable' }),
    refused: async () => {},
    stranger() {},
  };

  config(): Config {
    return this.#config;
  }

  async submit(submission: Submission): Promise<SubmitReply> {
    if (this.refusal) return { kind: 'refused', refusal: this.refusal };
    this.submissions.push(submission);
    return { kind: 'accepted', id: this.#nextId() };
  }

  async startRun(submission: RunSubmission, onOver?: OnOver): Promise<SubmitReply> {
    if (this.refusal) return { kind: 'refused', refusal: this.refusal };
    this.runs.push(submission);
    const id = this.#nextId();
    if (onOver) setImmediate(() => this.onWatched(id, () => onOver('settled')));
    return { kind: 'accepted', id };
  }

  unwatch(id: JobId): void {
    this.unwatched.push(formatId(id));
  }

  job(id: JobId): JobView | undefined {
    return this.jobs.get(formatId(id));
  }

  tree(id: JobId, limit: number): readonly JobView[] | undefined {
    const root = this.job(id);
    if (!root) return undefined;
    return [...this.jobs.values()].filter(job => job === root || job.parentJobId === root.jobId).slice(0, limit);
  }

  treePages(id: JobId): { next(): readonly JobView[] } | undefined {
    if (this.pages) return { next: this.pages };
    const jobs = this.tree(id, Number.POSITIVE_INFINITY);
    if (!jobs) return undefined;
    let rest = jobs;
    return {
      next() {
        const page = rest.slice(0, 2);
        rest = rest.slice(2);
        return page;
      },
    };
  }

  listJobs(): JobPage {
    return { rows: [], total: 0, more: false };
  }

  listLogs(): LogPage {
    return { logs: [], total: 0, next: null, unsearched: 0 };
  }

  queueDepth(): number {
    return 3;
  }

  async stopwatch(plugin: string, window: Window): Promise<StopwatchReading> {
    return new StopwatchReading(this.index, plugin, window);
  }

  stopping(): boolean {
    return this.isStopping;
  }

  #nextId(): JobId {
    return jobId(this.#keys.next(startedAtMs), 0);
  }

  /** Makes a job that has ended. */
  addJob(status: Status, more?: Partial<JobView>): JobView {
    const job: JobView = {
      jobId: formatId(this.#nextId()),
      parentJobId: null,
      plugin: 'echo',
      command: 'handle',
      status,
      submittedBy: 'api:root',
      attempt: 1,
      createdUs: 1_700_000_000_000_001,
      startedUs: 1_700_000_000_500_000,
      completedUs: 1_700_000_001_000_999,
      body: encodeBody({ result: pack({ n: 1 }) }),
      lastError: status === 'succeeded' ? null : 'it broke',
      ...more,
    };
    this.jobs.set(job.jobId, job);
    return job;
  }
}

export type Gateway = {
  readonly url: string;
  readonly server: Server;
  readonly engine: MemoryEngine;
  readonly lines: RequestLine[];
  readonly faults: unknown[];
};

export async function startGateway(routes: readonly Route[] = apiRoutes): Promise<Gateway> {
  const engine = new MemoryEngine();
  const lines: RequestLine[] = [];
  const faults: unknown[] = [];
  const log = {
    debug: true,
    request: (line: RequestLine) => lines.push(line),
    fault: (error: unknown) => faults.push(error),
  };
  const listen = { host: '127.0.0.1', port: 0 };
  const nowMs = () => startedAtMs + 90_500;
  const table = makeRouteTable(routes);
  const authenticate = makeAuthenticate(nowMs, () => null);
  const server = await serve({
    listen,
    setting: 'api.listen',
    table: () => table,
    authenticate,
    engine,
    log,
    nowMs,
    idPrefix: 'test',
  });
  return { url: `http://127.0.0.1:${server.port}`, server, engine, lines, faults };
}
