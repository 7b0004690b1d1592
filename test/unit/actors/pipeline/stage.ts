// A stage for the pipeline actor: a store in memory, and a job actor that runs jobs as given functions, in any order.

import type { EndedRun, JobCalls, JobsSettled, NewJobs, SettledJob } from '../../../../actors/job/protocol.ts';
import type { JobGroup, Status, TerminalStatus } from '../../../../actors/job/records/job.ts';
import type { Pause, PauseKind } from '../../../../actors/job/records/pause.ts';
import { type PipelineActor, startPipelineActor } from '../../../../actors/pipeline/actor.ts';
import type { PipelineMessage, StartRun } from '../../../../actors/pipeline/protocol.ts';
import { type Body, bodyPart, encodeBody } from '../../../../runtime/host/wire/outcome.ts';
import { formatId, type JobId, jobId, makeBlockKeys, parseId } from '../../../../runtime/ids.ts';
import { type Json, pack, unpack } from '../../../../runtime/packing.ts';
import { isParted, type PartReader, partKeys, partsIn, wholeOf } from '../../../../runtime/parted.ts';
import { SetAside } from '../../../../runtime/store/set-aside.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import type { Turn } from '../../../../runtime/turn.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';
import { configOf } from './checked.ts';
import { JobRecords } from './job-records.ts';

export type Outcome = {
  readonly result?: Json;
  readonly events?: readonly { readonly type: string; readonly payload?: Json; readonly dedupe_key?: string }[];
  readonly error?: string;
  readonly status?: TerminalStatus;
};
export type Job = {
  readonly id: JobId;
  readonly text: string;
  readonly plugin: string;
  readonly command: string;
  readonly group: JobGroup;
  readonly offset: number;
  /** The packed payload, perhaps a value in parts. */
  readonly payload: Uint8Array;
  readonly parts: PartReader;
  readonly createdAt: number;
  status: Status;
  body: Body | null;
};
/** Runs one job. */
export type Plugin = (payload: never, job: Job) => Outcome;
export type Plugins = { readonly [name: string]: Plugin };

export type StageOptions = {
  readonly pipelines: unknown;
  readonly plugins: Plugins;
  readonly configs?: { readonly [plugin: string]: Json };
  /** Numbers in [0, 1). By default always 0, so that all jobs run at once, in the order of their creation. */
  readonly random?: () => number;
  /** While this many runs are open, events start no runs. */
  readonly openRunsMax?: number;
  /** The bytes that open runs in memory may take. With 0, each turn reads its runs again. */
  readonly loadedBytesMax?: number;
  readonly openRunsBytesMax?: number;
  /** Gathered results of at least this many bytes become values in parts. */
  readonly partedBytesMin?: number;
  /** Called to find out whether the turn has used up its time; by default it never has. */
  readonly isSpent?: () => boolean;
  /** How many descendants a root may have; by default 10,000,000. */
  readonly jobsPerRootMax?: number;
  /** Jobs and their ends are stored as the job actor stores them, so that runs can be run again. */
  readonly keepsRecords?: true;
};

function pauseOf(name: string): Pause {
  return { kind: 'pipeline', name, command: null, reason: null, by: 'test', sinceUs: 1, untilUs: null, rejects: false };
}

export class Stage {
  readonly store: Store = openMemoryStore();
  readonly jobs = new Map<string, Job>();
  /** The runs whose callers wait, by whether they had settled before the actor said so. */
  readonly awaited: { readonly open: string[]; readonly known: string[] } = { open: [], known: [] };
  /** The number of records that the last turn wrote. */
  written = 0;
  /** How many bodies of ended jobs were read again. */
  bodiesRead = 0;
  readonly replies: unknown[] = [];
  /** The jobs that the actor has created. */
  readonly created: NewJobs[] = [];
  /** Pipelines that are paused. */
  readonly paused = new Set<string>();
  /** Jobs that are queued. */
  waiting: Job[] = [];
  nowUs = 1_700_000_000_000_000;
  turns = 0;
  wakes = 0;
  #actor!: PipelineActor;
  /** Jobs that failed at their creation. */
  #settled: JobsSettled[] = [];
  #isWoken = false;
  readonly #made = new Map<string, number>();
  readonly #records: JobRecords | null;
  readonly #blockKeys = makeBlockKeys(() => 7);
  #options: StageOptions;
  readonly #random: () => number;

  constructor(options: StageOptions) {
    this.#options = options;
    this.#records = options.keepsRecords ? new JobRecords() : null;
    this.#random = options.random ?? (() => 0);
    this.restart();
  }

  /** Restarts the actor from the store alone. */
  restart(): void {
    this.#isWoken = false;
    this.#actor = startPipelineActor({
      store: this.store,
      config: configOf(this.#options),
      setAside: new SetAside(),
      ...(this.#options.openRunsMax !== undefined && { openRunsMax: this.#options.openRunsMax }),
      ...(this.#options.loadedBytesMax !== undefined && { loadedBytesMax: this.#options.loadedBytesMax }),
      ...(this.#options.partedBytesMin !== undefined && { partedBytesMin: this.#options.partedBytesMin }),
      ...(this.#options.openRunsBytesMax !== undefined && { openRunsBytesMax: this.#options.openRunsBytesMax }),
      jobs: this.#jobs(),
      wake: () => {
        this.wakes++;
        this.#isWoken = true;
      },
      ancestor: id => {
        const job = this.jobs.get(formatId(id));
        if (job === undefined || job.createdAt === this.turns) return undefined;
        return { name: `${job.plugin}.${job.command}`, parent: job.group.parent };
      },
      bodyOf: id => {
        this.bodiesRead++;
        return this.jobs.get(formatId(id))!.body!;
      },
      payloadOf: run => this.jobs.get(formatId(run))!.payload,
    });
  }

  reconfigure(change: Partial<StageOptions>): void {
    this.#options = { ...this.#options, ...change };
    this.turn(turn => this.#actor.reconfigure(configOf(this.#options), turn));
  }

  /** The pause of a pipeline ends; or, with `kind`, another one. */
  resume(name: string, kind: PauseKind = 'pipeline'): void {
    this.paused.delete(name);
    this.turn(() => this.#actor.resumed([{ kind, name, command: null }]));
  }

  /** Calls a pipeline; the run's id, or the refusal. */
  start(pipeline: string, payload: Json = {}, watch = false): string {
    return this.#start({ pipeline, payload: pack(payload), watch });
  }

  /** Reruns a run `from: failed`; returns the new run's id, or the refusal. */
  rerun(id: string): string {
    const { command, payload, group } = this.jobs.get(id)!;
    const rerun = { of: parseId(id)!, from: 'failed', reason: null } as const;
    const source = { rerun, context: group.context, dedupeKey: null };
    return this.#start({ pipeline: command, payload, watch: false, source });
  }

  #start(call: Pick<StartRun, 'pipeline' | 'payload' | 'watch' | 'source'>): string {
    this.send({ kind: 'start_run', replyTo: { ask: 0 }, submittedBy: 'test', ...call });
    const reply = this.replies.at(-1) as { kind: string; id: JobId; refusal: string };
    return reply.kind === 'accepted' ? formatId(reply.id) : reply.refusal;
  }

  /** A job of a direct call. */
  submit(plugin: string, payload: Json = {}): Job {
    const group = {
      submittedBy: 'test',
      parent: null,
      root: null,
      depth: 1,
      event: { type: 'api.trigger', source: 'api', dedupeKey: null },
      context: pack({}),
      pipeline: null,
      stepId: null,
      run: null,
      hooked: false,
      rerun: null,
      options: null,
    };
    const job = this.#add(plugin, 'handle', group, 0, pack(payload), this.#newKey());
    this.waiting.push(job);
    return job;
  }

  /** One turn of the ledger thread, with these messages. */
  send(...messages: readonly PipelineMessage[]): void {
    this.turn(turn => messages.forEach(message => void this.#actor.receive(message, turn)));
  }

  /** One turn of the ledger thread. */
  turn(handle: (turn: Turn) => void = () => {}): void {
    this.turns++;
    this.nowUs += 1000;
    this.#isWoken = false;
    const batch = this.store.batch();
    const effects: (() => void)[] = [];
    const { isSpent = () => false } = this.#options;
    const turn: Turn = {
      nowUs: this.nowUs,
      get isSpent() {
        return isSpent();
      },
      batch,
      tell: () => {},
      reply: (_, value) => effects.push(() => this.replies.push(value)),
      after: effect => effects.push(effect),
    };
    this.#actor.begin(turn);
    handle(turn);
    this.#actor.advance();
    for (let settled = this.#settled; settled.length > 0; settled = this.#settled) {
      this.#settled = [];
      this.#actor.jobsSettled(settled, turn);
      this.#actor.advance();
    }
    this.#actor.close(turn);
    this.written = batch.size;
    // Writes how many jobs of a root each block has, as the job actor does.
    for (const [entry, count] of this.#made) {
      batch.put('tree', Buffer.from(entry, 'latin1'), Buffer.from(Uint32Array.of(0, count).buffer));
    }
    this.#made.clear();
    this.#records?.write(batch, this.nowUs);
    this.store.commit(batch);
    for (const effect of effects) effect();
  }

  /** Runs some of the waiting jobs, and settles them in one turn. */
  work(count = this.waiting.length): void {
    const groups = new Map<object, JobsSettled & { jobs: SettledJob[] }>();
    for (let n = 0; n < count; n++) {
      const [job] = this.waiting.splice(Math.floor(this.#random() * this.waiting.length), 1);
      if (!job) break;
      this.#run(job);
      let settled = groups.get(job.group);
      if (!settled) {
        settled = { plugin: job.plugin, command: job.command, group: job.group, jobs: [] };
        groups.set(job.group, settled);
      }
      settled.jobs.push({ id: job.id, offset: job.offset, status: job.status as TerminalStatus, body: job.body! });
    }
    this.turn(turn => this.#actor.jobsSettled([...groups.values()], turn));
  }

  /** Until nothing is left to do. */
  finish(): void {
    while (this.isBusy) this.work();
  }

  /** Calls a pipeline, and runs all of its jobs; the run's job. */
  run(pipeline: string, payload: Json = {}): Job {
    const id = this.start(pipeline, payload);
    this.finish();
    return this.jobs.get(id)!;
  }

  /** The jobs of a plugin, in the order of their creation. */
  of(plugin: string): Job[] {
    return [...this.jobs.values()].filter(job => job.plugin === plugin);
  }

  /** Whether jobs wait, or the actor has asked for another turn. */
  get isBusy(): boolean {
    return this.waiting.length > 0 || this.#isWoken;
  }

  /** Runs that have begun and are not over. */
  get openRuns(): number {
    return this.of('pipeline').filter(run => run.status === 'running').length;
  }

  /** The number of records of runs in the store, without those to which values in parts refer. */
  leftovers(): number {
    const named = new Set<string>();
    for (const job of this.jobs.values()) {
      for (const value of [job.payload, job.body && bodyPart(job.body, 'result')]) {
        if (value && isParted(value)) for (const key of partKeys(value)) named.add(Buffer.from(key).toString('hex'));
      }
    }
    const arrivals = [...this.store.keys('arrivals', {})].filter(key => !named.has(Buffer.from(key).toString('hex')));
    return (['runs', 'lists', 'emissions', 'descendants', 'open_trees', 'run_counts'] as const).reduce(
      (sum, table) => sum + this.store.count(table),
      arrivals.length,
    );
  }

  #jobs(): JobCalls {
    return {
      refusal: () => null,
      idempotency: { answer: () => null, answerAll: () => null, remember() {} },
      holdsChanged() {},
      pauseOf: name => (this.paused.has(name) ? pauseOf(name) : null),
      pauseRefusal: () => null,
      awaited: {
        add: id => void this.awaited.open.push(formatId(id)),
        addKnown: id => void this.awaited.known.push(formatId(id)),
      },
      cancels: {
        haveRuns: false,
        of: () => undefined,
        around: () => null,
        countNotStarted() {},
        phaseBegins() {},
        detached: { coversEventsOf: () => false },
      },
      createJobs: jobs => this.#create(jobs),
      createRuns: () => {
        throw new Error('no test accepts runs in batches');
      },
      createRun: (pipeline, group, payload) => {
        const job = this.#add('pipeline', pipeline, group, 0, payload, this.#newKey());
        job.status = 'running';
        return job.id;
      },
      settleRun: run => this.#settle(run),
    };
  }

  #settle({ id, status, body }: EndedRun): void {
    const job = this.jobs.get(formatId(id))!;
    if (job.status !== 'running') throw new Error(`a run that is ${job.status} settles`);
    job.status = status;
    job.body = body;
    this.#records?.end(job);
  }

  #create(jobs: NewJobs): void {
    this.created.push(jobs);
    const { plugin, command, group, payloads, failedAtCreation } = jobs;
    const key = this.#newKey();
    const added = payloads.map((payload, k) => this.#add(plugin, command, group, k, payload, key));
    if (!failedAtCreation) {
      this.waiting.push(...added);
      return;
    }
    const { status, error } = failedAtCreation;
    const body = encodeBody({ error: Buffer.from(error) });
    for (const job of added) Object.assign(job, { status, body });
    for (const job of added) this.#records?.end(job);
    this.#settled.push({ plugin, command, group, jobs: added.map(({ id, offset }) => ({ id, offset, status, body })) });
  }

  #newKey(): Uint8Array {
    return this.#blockKeys.next(Math.floor(this.nowUs / 1000));
  }

  #add(plugin: string, command: string, group: JobGroup, offset: number, payload: Uint8Array, key: Uint8Array): Job {
    const id = jobId(key, offset);
    const text = formatId(id);
    const job: Job = {
      id,
      text,
      plugin,
      command,
      group,
      offset,
      payload: Buffer.from(payload),
      parts: partsIn(this.store),
      createdAt: this.turns,
      status: 'queued',
      body: null,
    };
    this.jobs.set(text, job);
    this.#records?.add(job);
    if (group.root) {
      const entry = Buffer.concat([group.root, key]).toString('latin1');
      this.#made.set(entry, (this.#made.get(entry) ?? 0) + 1);
    }
    return job;
  }

  #run(job: Job): void {
    const outcome = this.#options.plugins[job.plugin]!(payloadOf(job) as never, job);
    const { result, events, error } = outcome;
    job.status = outcome.status ?? (error === undefined ? 'succeeded' : 'failed');
    job.body = encodeBody({
      ...(result !== undefined && { result: pack(result) }),
      ...(events && { events: pack(events) }),
      ...(error !== undefined && { error: Buffer.from(error) }),
    });
    this.#records?.end(job);
  }
}

/** The value of a job's result. */
export function resultOf(job: Job): Json | undefined {
  const part = job.body && bodyPart(job.body, 'result');
  return part ? unpack(wholeOf(job.parts, part)) : undefined;
}

export function errorOf(job: Job): string {
  return Buffer.from(bodyPart(job.body!, 'error') ?? []).toString();
}

export function payloadOf(job: Job): Json {
  return unpack(wholeOf(job.parts, job.payload));
}

export function contextOf(job: Job): Json {
  return unpack(job.group.context);
}
