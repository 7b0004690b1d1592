// A plugin host from the built code, plugins written to a temporary folder, and waiting for what the host tells.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../../../runtime/clock.ts';
import { type BodyPart, decodeBody } from '../../../../runtime/host/wire/outcome.ts';
import type {
  HostedPlugin,
  Outcome,
  PluginHost,
  TaskFrame,
  TaskGroup,
} from '../../../../runtime/host/wire/plugin-host.ts';
import { formatId, jobId, makeBlockKeys } from '../../../../runtime/ids.ts';
import { type Json, type JsonObject, pack, packedEmpty, unpack } from '../../../../runtime/packing.ts';

export const builtHost = new URL('../../../../dist/runtime/host/client/host.js', import.meta.url).href;
const { Host } = (await import(builtHost)) as typeof import('../../../../runtime/host/client/host.ts');

/** An outcome with its parts as values. */
export type Ended = Pick<Outcome, 'task' | 'verdict' | 'permanent' | 'startedUs' | 'runUs'> & {
  readonly [P in BodyPart]?: Json;
};

/** What became of a frame, once each task was answered, returned or lost. `begun`: the returned tasks that had begun. */
export type FrameEnd = {
  readonly outcomes: Ended[];
  readonly returned: number[];
  readonly begun: number[];
  lost: string | null;
};

export type Job = {
  readonly command?: string;
  readonly payload?: Json;
  readonly payloads?: readonly Json[];
  readonly state?: JsonObject;
  readonly secrets?: JsonObject;
  readonly deadlineMs?: number;
  readonly attempt?: number;
  readonly group?: Partial<TaskGroup>;
  /** Only for concurrent stages: the runner, by default the first, and the concurrency, by default the number of tasks in the frame. */
  readonly runner?: number;
  readonly concurrency?: number;
};

const keys = makeBlockKeys(() => 7);
const open: Stage[] = [];

/** A stage for frames whose tasks are under way together. */
export function concurrentStage(): Stage {
  return new Stage(2, [], undefined, true);
}

/** For `afterEach`: ends all stages of the test. */
export async function clearStages(): Promise<void> {
  await Promise.all(open.splice(0).map(stage => stage.close()));
}

export class Stage {
  readonly directory = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-host-')));
  readonly runDirectory: string;
  /** The host, which starts at the first use: with threads, or only for programs, depending on the plugins. */
  get host(): PluginHost {
    this.#host ??= this.#start();
    return this.#host;
  }
  #host: PluginHost | null = null;
  readonly #threads: number;
  readonly #isConcurrent: boolean;
  readonly #passthrough: readonly string[];
  readonly told: {
    kind: 'outcomes' | 'returned' | 'lost' | 'replaced' | 'cancelling' | 'log';
    text: string;
    fields?: unknown;
  }[] = [];
  readonly plugins: HostedPlugin[] = [];
  readonly #frames = new Map<number, { left: number; end: FrameEnd; over: (end: FrameEnd) => void }>();
  #waiters: (() => void)[] = [];
  #frameId = 0;
  #generation = 0;
  #changed = false;

  constructor(threads = 2, passthrough: readonly string[] = [], runDirectory?: string, isConcurrent = false) {
    this.runDirectory = runDirectory ?? join(this.directory, 'run');
    this.#threads = threads;
    this.#isConcurrent = isConcurrent;
    this.#passthrough = passthrough;
    open.push(this);
  }

  #start(): PluginHost {
    return new Host({
      clock: systemClock(),
      name: 'test',
      threads: this.#threads,
      runtimes: [...new Set(this.plugins.map(({ runtime }) => runtime))],
      runDirectory: this.runDirectory,
      isConcurrent: this.#isConcurrent,
      envPassthrough: this.#passthrough,
      listener: {
        onOutcomes: (id, outcomes) => {
          this.#part(id, outcomes.length, end => end.outcomes.push(...outcomes.map(show)));
          this.#tell('outcomes', String(id));
        },
        onReturned: (id, tasks, reason) => {
          this.#part(id, tasks.length, end => {
            end.returned.push(...tasks);
            if (reason === 'begun') end.begun.push(...tasks);
          });
          this.#tell('returned', String(id));
        },
        onLost: reason => {
          for (const [id, { left }] of this.#frames) {
            this.#part(id, left, end => {
              end.lost = reason;
            });
          }
          this.#tell('lost', reason);
        },
        onCancelling: (id, task) => this.#tell('cancelling', `${id} ${task}`),
        onThreadReplaced: reason => this.#tell('replaced', reason),
      },
      log: (level, message, fields) => this.#tell('log', `${level} ${message}`, fields),
    });
  }

  /** Adds a plugin whose code is the text; a process plugin's begins with `#!`. */
  plugin(instance: string, code: string, more: Partial<HostedPlugin> = {}): this {
    const runtime = code.startsWith('#!') ? 'process' : 'worker';
    const directory = join(this.directory, 'plugins', instance);
    const entrypoint = more.entrypoint ?? (runtime === 'worker' ? 'index.mjs' : 'main');
    this.write(instance, entrypoint, code);
    const commands = { handle: { inputSchema: null }, ...more.commands };
    const base = {
      instance,
      plugin: instance,
      dialect: 'headgate',
      runtime,
      directory,
      entrypoint,
      config: {},
    } as const;
    this.plugins.push({ ...base, ...more, commands });
    this.#changed = true;
    return this;
  }

  write(instance: string, file: string, text: string): void {
    const path = join(this.directory, 'plugins', instance, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o755 });
  }

  /** Sends the host a new generation of plugins. This happens by itself before the first frame after a plugin was added. */
  configure(): void {
    this.#changed = false;
    this.host.configure(++this.#generation, this.plugins);
  }

  /** Sends a frame and waits for its end. */
  frame(instance: string, job: Job = {}): Promise<FrameEnd> {
    if (this.#changed) this.configure();
    const payloads = (job.payloads ?? [job.payload ?? {}]).map(pack);
    const key = keys.next(Date.now());
    const frame: TaskFrame = {
      frameId: ++this.#frameId,
      ...(this.#isConcurrent && { runner: job.runner ?? 0, concurrency: job.concurrency ?? payloads.length }),
      instance,
      command: job.command ?? 'handle',
      deadlineMs: job.deadlineMs ?? 20_000,
      state: pack(job.state ?? {}),
      secrets: job.secrets && pack(job.secrets),
      groups: [
        {
          count: payloads.length,
          context: packedEmpty,
          pipeline: null,
          stepId: null,
          depth: 0,
          event: null,
          createdUs: 1.7e15,
          ...job.group,
        },
      ],
      ids: Buffer.concat(payloads.map((_, i) => jobId(key, i))),
      attempts: payloads.map(() => job.attempt ?? 1),
      payloads,
    };
    this.lastJobId = formatId(frame.ids.subarray(0, 16));
    return new Promise(over => {
      const end: FrameEnd = { outcomes: [], returned: [], begun: [], lost: null };
      this.#frames.set(frame.frameId, { left: payloads.length, end, over });
      this.host.submit(frame);
    });
  }

  lastJobId = '';

  /** Cancels a task of the frame that was sent last. Resolves when the host has confirmed it. */
  async cancel(task: number, reason = 'cancelled'): Promise<void> {
    const frameId = this.#frameId;
    this.host.cancel(frameId, task, reason);
    await this.heard('cancelling', new RegExp(`^${frameId} ${task} `));
  }

  /** Sends one job, again when it is sent back, and waits for its outcome. */
  async run(instance: string, job: Job = {}): Promise<Ended> {
    const { outcomes, lost } = await this.frameUntil(instance, job, ({ returned }) => returned.length === 0);
    if (lost !== null) throw new Error(`no outcome: ${lost}`);
    return outcomes[0]!;
  }

  /** As `frame`, but repeats until `wanted` holds: on a busy machine, tasks may be returned because one was slow. */
  async frameUntil(instance: string, job: Job, wanted: (end: FrameEnd) => boolean): Promise<FrameEnd> {
    for (;;) {
      const end = await this.frame(instance, job);
      if (wanted(end)) return end;
    }
  }

  /** As `frame`, but repeats until no task is returned. */
  whole(instance: string, job: Job): Promise<FrameEnd> {
    return this.frameUntil(instance, job, ({ returned }) => returned.length === 0);
  }

  /** Waits until the host has told something of the kind that matches. */
  async heard(kind: Stage['told'][number]['kind'], pattern: RegExp): Promise<Stage['told'][number]> {
    for (;;) {
      const found = this.told.find(
        one => one.kind === kind && pattern.test(`${one.text} ${JSON.stringify(one.fields)}`),
      );
      if (found) return found;
      await new Promise<void>(resolve => this.#waiters.push(resolve));
    }
  }

  async close(): Promise<void> {
    await this.#host?.stop(0);
    rmSync(this.directory, { recursive: true, force: true });
  }

  #tell(kind: Stage['told'][number]['kind'], text: string, fields?: unknown): void {
    this.told.push({ kind, text, fields });
    for (const wake of this.#waiters.splice(0)) wake();
  }

  #part(id: number, tasks: number, add: (end: FrameEnd) => void): void {
    const frame = this.#frames.get(id);
    if (frame === undefined) throw new Error(`frame ${id} was over already`);
    add(frame.end);
    frame.left -= tasks;
    if (frame.left > 0) return;
    this.#frames.delete(id);
    frame.over(frame.end);
  }
}

function show({ body, ...head }: Outcome): Ended {
  const found: { [P in BodyPart]?: Json } = {};
  for (const [part, bytes] of Object.entries(decodeBody(body)) as [BodyPart, Uint8Array][]) {
    found[part] = part === 'error' || part === 'stderr' ? Buffer.from(bytes).toString() : unpack(bytes);
  }
  return { ...head, ...found };
}
