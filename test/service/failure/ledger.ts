// The ledger without its thread: the job and the pipeline actor with their lifecycle, on a store in memory, and hosts that do what the test says.

import type { HostSlotName } from '../../../actors/job/dispatch/host-slot.ts';
import { OutstandingFrames } from '../../../actors/job/dispatch/outstanding-frames.ts';
import { Gauges } from '../../../actors/job/gauges.ts';
import { newestBlock } from '../../../actors/job/records/block.ts';
import { NameTable } from '../../../actors/job/records/name-table.ts';
import type { CallOptions } from '../../../actors/job/records/options.ts';
import { invariantsOf } from '../../../actors/job/views/invariants.ts';
import { findJob } from '../../../actors/job/views/jobs.ts';
import type { Config, ScheduleDefinition } from '../../../config/config.ts';
import { type Body, bodyPart, encodeBody } from '../../../runtime/host/wire/outcome.ts';
import type { PluginHost, TaskFrame } from '../../../runtime/host/wire/plugin-host.ts';
import { formatId, makeBlockKeys, parseId } from '../../../runtime/ids.ts';
import { type Json, pack } from '../../../runtime/packing.ts';
import { SetAside, type SetAsideRecord } from '../../../runtime/store/set-aside.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { ActorLifecycle } from '../../../service/ledger/actor-lifecycle.ts';
import { ledgerTurns, startLedgerActors } from '../../../service/ledger/ledger-actors.ts';
import { openMemoryStore } from '../../support/memory-store.ts';
import { config, plugin } from '../../unit/actors/job/simulator.ts';
import { checkPipelines } from '../../unit/actors/pipeline/checked.ts';

export type Task = {
  readonly id: string;
  readonly attempt: number;
  readonly frame: TaskFrame;
  readonly slot: HostSlotName;
};

type SubmitOptions = { readonly key?: string; readonly payload?: Json; readonly options?: CallOptions };

const noVault = {
  readUnlock: () => ({ key: 'there is no vault', file: null }),
  random: (bytes: number) => Buffer.alloc(bytes),
  onOpened() {},
  exportDirectory: () => null,
  onBrokenTrail() {},
  onExportFailed() {},
};

export class Ledger {
  readonly store = openMemoryStore(batch => this.beforeCommit(batch));
  /** Called before each commit; a test may have it throw. */
  beforeCommit: (batch: Batch) => void = () => {};
  commits = 0;
  readonly replies: { readonly ask: number; readonly value: { readonly kind: string; readonly refusal?: string } }[] =
    [];
  /** Every message to another thread. */
  readonly sent: unknown[] = [];
  /** Every task that a host was given. */
  readonly tasks: Task[] = [];
  readonly fatal: number[] = [];
  readonly logged: string[] = [];
  readonly setAsideRecords: SetAsideRecord[] = [];
  hostsStarted = 0;
  hostsStopped = 0;
  hasRoom = true;
  nowUs = 1_700_000_000_000_000;
  lifecycle!: ActorLifecycle;
  #config: Config;
  #due: (() => void)[] = [];
  #asks = 0;
  #lifeOfProcess = 0;

  constructor(
    pipelines: unknown = [],
    plugins: readonly string[] = ['echo'],
    schedules: readonly ScheduleDefinition[] = [],
  ) {
    const known = Object.fromEntries(plugins.map(name => [name, ['handle']]));
    const checked = checkPipelines(pipelines, known);
    if (checked.problems.length > 0) throw new Error(checked.problems.join('\n'));
    const base = config(plugins.map(name => plugin(name)));
    const service = { ...base.service, jobsPerRootMax: 1e7, workersMax: 8 };
    this.#config = { ...base, service, pipelines: checked.pipelines, schedules } as Config;
    this.start();
  }

  /** Starts a new process of the service on the same store, as after the end of the one before. */
  start(): void {
    const process = ++this.#lifeOfProcess;
    this.store.close();
    this.#due = [];
    const outstanding = new OutstandingFrames();
    const blockKeys = makeBlockKeys(() => 7, newestBlock(this.store));
    const setAside = new SetAside(record => this.setAsideRecords.push(record));
    const lifecycle = new ActorLifecycle({
      store: {
        ...this.store,
        commit: batch => {
          this.store.commit(batch);
          this.commits++;
        },
      },
      clock: { nowUs: () => ++this.nowUs },
      schedule: turn => this.#due.push(() => process === this.#lifeOfProcess && turn()),
      send: (_, message) => this.sent.push(message),
      reply: ({ ask }, value) => this.replies.push({ ask, value: value as never }),
      flush() {},
      steadyMs: () => this.nowUs / 1000,
      setAside,
      begin: ({ tell }) =>
        ledgerTurns(
          startLedgerActors({
            store: this.store,
            config: this.#config,
            setAside,
            gauges: new Gauges(),
            tell,
            job: {
              blockKeys,
              random: () => 0.5,
              outstanding,
              nowMs: Math.floor(this.nowUs / 1000),
              alarm() {},
              startHost: ({ name }) => this.#host(name),
            },
            vault: noVault,
            schedule: { startedMs: Math.floor(this.nowUs / 1000), alarm() {} },
          }),
        ),
      stopHosts: async () => {
        this.hostsStopped++;
        outstanding.clear();
      },
      hasRoom: () => this.hasRoom,
      log: (_, message) => this.logged.push(message),
      onFatal: status => this.fatal.push(status),
    });
    this.lifecycle = lifecycle;
    lifecycle.begin();
    this.run();
  }

  /** Runs the next turn. Returns false if none is due. */
  runTurn(): boolean {
    const turn = this.#due.shift();
    turn?.();
    return turn !== undefined;
  }

  /** Runs turns until none is due. */
  run(): void {
    while (this.runTurn());
  }

  /** As `run`, and lets promises settle between turns, such as those for the end of hosts. */
  async rest(): Promise<void> {
    for (let round = 0; round < 20; round++) {
      this.run();
      await Promise.resolve();
    }
  }

  submit(name: string, { key, payload = {}, options }: SubmitOptions = {}): number {
    const ask = ++this.#asks;
    const hash = key === undefined ? null : Buffer.alloc(16, key);
    this.lifecycle.loop.deliver('job', {
      kind: 'submit',
      replyTo: { ask },
      plugin: name,
      command: 'handle',
      payloads: [pack(payload)],
      submittedBy: 'test',
      event: null,
      ...(options && { options }),
      ...(hash && { idempotency: { key: hash, request: hash } }),
    });
    return ask;
  }

  startRun(pipeline: string, payload: Json, options: CallOptions | null = null): number {
    const ask = ++this.#asks;
    const replyTo = { ask };
    const message = {
      pipeline,
      payload: pack(payload),
      submittedBy: 'test',
      watch: false,
      ...(options && { options }),
    };
    this.lifecycle.loop.deliver('pipeline', { kind: 'start_run', replyTo, ...message });
    return ask;
  }

  replyTo(ask: number): unknown {
    return this.replies.find(reply => reply.ask === ask)?.value;
  }

  /** Delivers the outcomes of all tasks of the task's frame in one message: each with the verdict `ok` and this body. */
  answer(task: Task, body: (id: string) => Body = () => encodeBody({ result: pack(1) })): void {
    const { frame, slot } = task;
    const outcomes = frame.payloads.map((_, place) => {
      const id = formatId(frame.ids.subarray(place * 16, place * 16 + 16));
      return { task: place, verdict: 'ok' as const, permanent: false, startedUs: this.nowUs, runUs: 1, body: body(id) };
    });
    this.lifecycle.loop.deliver('job', { kind: 'outcomes', slot, frameId: frame.frameId, outcomes });
  }

  /** Tasks of this plugin, in the order in which hosts were given them. */
  of(name: string): Task[] {
    return this.tasks.filter(({ frame }) => frame.instance === name);
  }

  job(id: string): { readonly status: string; readonly error: string | null } {
    const job = findJob(this.store, parseId(id)!)!;
    const error = job.body && bodyPart(job.body, 'error');
    return { status: job.status, error: error ? Buffer.from(error).toString() : null };
  }

  change(edit: (batch: Batch, reader: Reader) => void): void {
    const batch = this.store.batch();
    edit(batch, this.store);
    this.store.commit(batch);
  }

  /** The violated invariants of the store. Those of idempotency keys are left out, because tests damage their records. */
  faults(): string[] {
    const asked = invariantsOf(this.store, new NameTable(this.store)).filter(
      ({ name }) => !name.startsWith('idempotency'),
    );
    return asked.flatMap(({ table, wrong }) =>
      Array.from(this.store.scan(table, {}), ({ key, value }) => wrong(Buffer.from(key), value)).filter(
        fault => fault !== null,
      ),
    );
  }

  #host(slot: HostSlotName): PluginHost {
    this.hostsStarted++;
    return {
      configure() {},
      submit: frame => {
        frame.attempts.forEach((attempt, place) => {
          const id = formatId(frame.ids.subarray(place * 16, place * 16 + 16));
          this.tasks.push({ id, attempt, frame, slot });
        });
      },
      cancel() {},
      stop: async () => {},
    };
  }
}
