// A server on port 0 over an engine in memory, and the small configuration that its tests share.
import { Hub } from '../../../actors/hub/hub.ts';
import type { SubmitReply, Waits } from '../../../actors/job/protocol.ts';
import type { Status } from '../../../actors/job/records/job.ts';
import type { JobView } from '../../../actors/job/views/job-view.ts';
import type { ApiToken, Command, Config, PluginInstance } from '../../../config/config.ts';
import type { PipelineDefinition, Step } from '../../../config/pipeline/definition.ts';
import { makeAuthenticate } from '../../../http/auth.ts';
import type { RequestLine } from '../../../http/log.ts';
import type { Route } from '../../../http/route.ts';
import { makeRouteTable } from '../../../http/route-table.ts';
import { apiRoutes } from '../../../http/routes/api.ts';
import { type Server, serve } from '../../../http/server.ts';
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { formatId, type JobId, jobId, makeBlockKeys } from '../../../runtime/ids.ts';
import { openLink } from '../../../runtime/link.ts';
import { PackedList, type StoredList } from '../../../runtime/packed-list.ts';
import { type JsonObject, PacketPacker, PacketUnpacker, pack } from '../../../runtime/packing.ts';
import type { Administration } from '../../../service/administration.ts';
import type { Engine } from '../../../service/engine.ts';
import { EventStreams } from '../../../service/events/streams.ts';
import type { OnJobEnd } from '../../../service/job-waiters.ts';
import { writeActions } from '../../../service/json/action.ts';
import { chunkBytes, type JsonPart } from '../../../service/json/chunks.ts';
import { jobParts, settledParts, treeParts } from '../../../service/json/job.ts';
import { logsParts, writeJobs } from '../../../service/json/list.ts';
import { stopwatchParts } from '../../../service/json/stopwatch.ts';
import { RequestMeter } from '../../../service/metrics/request-meter.ts';
import type { Read } from '../../../service/reads/reads.ts';
import { type RunSubmission, type Submission, Submissions } from '../../../service/submissions.ts';
import { UiSessions } from '../../../service/ui-sessions.ts';
import type { VaultCalls } from '../../../service/vault-client.ts';
import { bindHere } from './differences.ts';
import { readAnswer } from './read-answer.ts';

export const bodyBytesMax = 100_000;
const listen = { host: '127.0.0.1', port: 0 };

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
  return { name, on: name, onHook: null, executionMode, timeoutMs: 600_000, if: null, steps };
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
    ...{ files: [], tokens: {}, pluginRoots: [], unusablePlugins: [], schedules: [], warnings: [] },
    service: {
      name: 'headgate',
      logLevel: 'debug',
      strictMode: false,
      workersMax: 2,
      queueDepthMax: 100,
      jobsPerRootMax: 10_000_000,
      pluginEnvPassthrough: [],
    },
    state: { path: '/data', retention: { jobsMs: 1, jobsMax: 1 }, log: { segmentBytes: 2 ** 24, churnBytes: 2 ** 25 } },
    api: { enabled: true, server: 'auto', listen, bodyBytesMax, batchBytesMax: 2 ** 20, tokens },
    webhooks: { listen, endpoints: [] },
    ...{ metrics: { listen: null, seriesMax: 5_000 }, ui: { enabled: true, path: '/ui' } },
    plugins: { echo },
    pipelines: [
      pipeline('later', 'asynchronous', [uses('one')]),
      pipeline('now', 'synchronous', [uses('one')]),
      pipeline('forked', 'synchronous', [split]),
      { ...pipeline('impatient', 'synchronous', [uses('one')]), timeoutMs: 1_000 },
    ],
    vault: { keyFile: '/data/vault.key', auditRetentionMs: 0, auditExport: null },
    backups: { everyMs: null, keep: 7, into: '/backups', log: false },
  } as unknown as Config;
}

const startedAtMs = 1_700_000_000_000;

type Asked = {
  readonly kind: string;
  readonly replyTo: { readonly ask: number };
  readonly payloads?: readonly Uint8Array[] | StoredList;
  readonly watch?: boolean;
};

const unavailable = async () => ({ kind: 'refused', refusal: 'unavailable' }) as const;

export class MemoryEngine implements Engine {
  #reply: ((bytes: Uint8Array) => void) | null = null;
  #held: (() => void)[] | null = null;
  readonly #packets = { packer: new PacketPacker(), unpacker: new PacketUnpacker() };
  readonly #gate = new Submissions(
    openLink({
      port: {
        postMessage: (bytes: Uint8Array) => this.#take(bytes),
        on: (_: string, take: (bytes: Uint8Array) => void) => {
          this.#reply = take;
        },
      } as never,
      onMessage: () => {},
      schedule: flush => setImmediate(flush),
    }),
  );
  readonly #keys = makeBlockKeys(() => 7);
  readonly #config = makeConfig();
  readonly jobs = new Map<string, JobView>();
  readonly submissions: Submission[] = [];
  readonly runs: RunSubmission[] = [];
  readonly unwatched: string[] = [];
  /** The refusal for the next submissions; null to accept them. */
  refusal: (SubmitReply & { kind: 'refused' })['refusal'] | null = null;
  isStopping = false;
  /** Whether too many callers wait, so that no more may. */
  isCrowded = false;
  /** Called with every run that is waited for. */
  onWatched: (id: JobId, settled: () => void) => void = () => {};
  /** If set, the pages of every tree. */
  pages: (() => readonly JobView[]) | null = null;
  readonly upMs = () => 90_500;
  /** What every job waits for. */
  waitsFor: Waits | null = null;
  readonly waits = async () => this.waitsFor;
  readonly reschedule: Engine['reschedule'] = async () => ({ kind: 'reschedule', runAtUs: null });
  readonly runNow: Engine['runNow'] = async () => ({ kind: 'run_now', wasWaiting: true });
  readonly actions: Engine['actions'] = {
    ...{ count: unavailable, start: unavailable },
    earlier: async () => null,
    find: () => undefined,
  };
  readonly schedules: Engine['schedules'] = {
    ...{ run: unavailable, pause: unavailable, resume: unavailable },
    shown: async () => [],
    page: async () => ({ shown: [], isLast: true }),
    removedOne: () => undefined,
    count: async () => null,
  };
  readonly pauses: Engine['pauses'] = {
    ...{ pause: unavailable, resume: unavailable },
    list: () => [],
    unsettled: () => ({ jobs: 0, delayed: 0, runs: 0, oldestMs: null, commands: [] }),
  };
  readonly backups: Engine['backups'] = { write: async () => ({ kind: 'refused', reason: 'there is no disk here' }) };
  readonly cancel = async () => this.refusal && { kind: 'refused' as const, refusal: this.refusal };
  readonly uiSessions = new UiSessions({ read: () => [], replace: () => {} }, Date.now);
  readonly version = '0.1.0';
  readonly metrics: Engine['metrics'] = { requests: new RequestMeter(), text: async () => Buffer.from('# EOF\n') };
  readonly hub = new Hub();
  readonly events = new EventStreams({ hub: this.hub, nowMs: Date.now, generation: () => [this.#config] });
  readonly administration: Administration = {
    reload: async () => ({ kind: 'reloaded', atUs: startedAtMs * 1000, kept: [], held: [], warnings: [] }),
    dryRunReload: async () => ({ errors: [], warnings: [], held: [] }),
    queue: async () => null,
    summary: () => ({ queued: 0, running: 0, succeeded: 0, failed: 0, timed_out: 0, dead: 0, cancelled: 0 }),
    doctor: async () => [],
    selfcheck: async () => ({ invariantsChecked: 0, failures: [], detail: '' }),
  };

  /** This gateway has no vault. */
  readonly vault: VaultCalls = {
    adminDigest: null,
    isSealed: false,
    call: async () => ({ kind: 'refused', refusal: 'vault_unavailable' }),
    refused: async () => {},
    unauthenticated() {},
  };

  config(): Config {
    return this.#config;
  }

  async submit(submission: Submission, onJobEnd?: OnJobEnd): Promise<SubmitReply> {
    const reply = await this.#gate.submit(submission);
    if (reply.kind === 'accepted' && onJobEnd) this.watch(reply.id, onJobEnd);
    return reply;
  }

  async startRun(submission: RunSubmission, onJobEnd?: OnJobEnd): Promise<SubmitReply> {
    const reply = await this.#gate.startRun(submission, onJobEnd !== undefined);
    if (reply.kind === 'accepted' && onJobEnd) this.watch(reply.id, onJobEnd);
    return reply;
  }

  submitAll: Engine['submitAll'] = batch => this.#gate.submitAll(batch);

  watch(id: JobId, onJobEnd: OnJobEnd): void {
    if (this.isCrowded) onJobEnd('crowded');
    else setImmediate(() => this.onWatched(id, () => onJobEnd('settled')));
  }

  /** Delays all answers of the ledger until the returned function is called. */
  hold(): () => void {
    this.#held = [];
    return () => {
      const held = this.#held ?? [];
      this.#held = null;
      for (const answer of held) answer();
    };
  }

  /** The ledger's end of the link: keeps all submissions in memory. */
  #take(bytes: Uint8Array): void {
    for (const [actor, message] of this.#packets.unpacker.unpack<[string, Asked]>(bytes)) {
      const { kind: _, replyTo, payloads: given = [], ...common } = message;
      const payloads = 'all' in given ? new PackedList(given).values() : given;
      const answer = (value: unknown) => () => this.#reply?.(this.#packets.packer.pack([[replyTo.ask, value]]));
      if (this.refusal) this.#answer(answer({ kind: 'refused', refusal: this.refusal }));
      else if (actor === 'pipeline') {
        const { watch: __, ...run } = common;
        this.runs.push(run as RunSubmission);
        this.#answer(answer({ kind: 'accepted', id: this.#nextId() }));
      } else {
        this.submissions.push(...payloads.map(payload => ({ ...common, payload }) as Submission));
        this.#answer(answer({ kind: 'accepted', ids: Buffer.concat(payloads.map(() => this.#nextId())) }));
      }
    }
  }

  #answer(answer: () => void): void {
    if (this.#held) this.#held.push(answer);
    else setImmediate(answer);
  }

  unwatch(id: JobId): void {
    this.unwatched.push(formatId(id));
  }

  job(id: JobId): JobView | undefined {
    return this.jobs.get(formatId(id));
  }

  smallTree(id: JobId, limit: number): readonly JobView[] | undefined {
    const root = this.job(id);
    if (!root) return undefined;
    return [...this.jobs.values()].filter(job => job === root || job.parentJobId === root.jobId).slice(0, limit);
  }

  /** Answers reads on this thread. */
  readonly reads: Engine['reads'] = { answer: async read => readAnswer(this.#partsOf(read)) };

  #partsOf(read: Read): Iterable<JsonPart> {
    switch (read.kind) {
      case 'job':
        return jobParts(this.job(read.id)!, read.detail, read.waits);
      case 'tree':
        return treeParts(this.pages ? flat(this.pages) : this.smallTree(read.id, Infinity)!, read.withResult);
      case 'run':
        return settledParts(this.smallTree(read.id, Infinity)!, read.withTree);
      case 'jobs':
        return [writeJobs({ rows: [], total: 0, more: false, atLeast: false })];
      case 'actions':
        return [writeActions({ actions: [], total: 0, next: null })];
      case 'logs':
        return logsParts({ logs: [], total: 0, next: null, unsearched: 0 }, read.detail);
      case 'stopwatch':
        return stopwatchParts(read, new Map());
      default:
        return ['{}'];
    }
  }

  readonly newestEndUs = () => 0;
  readonly queueDepth = () => 3;

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
      isReused: false,
      stepId: null,
      plugin: 'echo',
      command: 'handle',
      status,
      phase: null,
      submittedBy: 'api:root',
      attempt: 1,
      createdUs: 1_700_000_000_000_001,
      startedUs: 1_700_000_000_500_000,
      completedUs: 1_700_000_001_000_999,
      rerun: null,
      options: null,
      times: null,
      reruns: { ids: [], count: 0 },
      body: encodeBody({ result: pack({ n: 1 }) }),
      isLarge: (more?.body?.length ?? 0) > chunkBytes,
      lastError: status === 'succeeded' ? null : 'it broke',
      counts: null,
      phaseError: null,
      cancelling: false,
      cancel: null,
      input: {
        stored: pack({ n: 1 }),
        payload: pack({ n: 1 }),
        payloadBytes: 4,
        context: pack({}),
        event: null,
        pipeline: null,
        runId: null,
        index: null,
      },
      ...more,
    };
    this.jobs.set(job.jobId, job);
    return job;
  }
}

function* flat(next: () => readonly JobView[]): Iterable<JobView> {
  for (let page = next(); page.length > 0; page = next()) yield* page;
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
    ...{ refused: () => {}, control: () => {} },
    fault: (error: unknown) => faults.push(error),
  };
  const nowMs = () => startedAtMs + 90_500;
  const table = makeRouteTable(routes);
  const authenticate = makeAuthenticate(nowMs, () => null, engine.uiSessions);
  const common = { engine, log, nowMs, idPrefix: 'test' };
  const server = serve(await bindHere(listen), { table: () => table, authenticate, ...common });
  return { url: `http://127.0.0.1:${server.port}`, server, engine, lines, faults };
}
