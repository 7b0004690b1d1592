// The job actor in a world made of values: its own clock, dice, store and hosts, each fault a named probability.
import { type InnerMessage, startJobActor } from '../../actors/job/actor.ts';
import { newestBlock } from '../../actors/job/block.ts';
import { Gauges } from '../../actors/job/gauges.ts';
import type { SubmitJobsReply } from '../../actors/job/protocol.ts';
import type { SlotName } from '../../actors/job/slot.ts';
import type { Command, Config, PluginInstance } from '../../config/config.ts';
import { encodeBody } from '../../runtime/host/outcome.ts';
import type { Outcome, PluginHost, TaskFrame } from '../../runtime/host/port.ts';
import { formatId, jobIdBytes, makeBlockKeys } from '../../runtime/ids.ts';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import { pack } from '../../runtime/packing.ts';
import { openMemoryStore } from '../../runtime/store/memory.ts';
import type { Store } from '../../runtime/store/store.ts';

export type Faults = {
  /** Chances, each between 0 and 1. */
  readonly error: number;
  readonly permanent: number;
  readonly timeout: number;
  readonly returned: number;
  readonly hostLost: number;
  readonly serviceKilled: number;
  /** By an hour, before the start that follows a kill. */
  readonly clockSetBack: number;
};
export const calm: Faults = {
  error: 0,
  permanent: 0,
  timeout: 0,
  returned: 0,
  hostLost: 0,
  serviceKilled: 0,
  clockSetBack: 0,
};
const hourUs = 3_600_000_000;

export function command(name: string, more: Partial<Command> = {}): Command {
  const plain = { description: null, inputSchema: null, outputSchema: null, idempotent: false, consume: [], emit: [] };
  return { name, type: 'write', retrySafe: true, ...plain, ...more };
}

export function plugin(
  name: string,
  more: Partial<PluginInstance> = {},
  commands = [command('handle')],
): PluginInstance {
  return {
    name,
    manifest: {
      name,
      version: '1.0.0',
      protocol: 2,
      description: '',
      dialect: 'headgate',
      runtime: 'worker',
      directory: '/plugins',
      entrypoint: '/plugins/index.js',
      concurrencySafe: true,
      commands,
      configKeys: { required: [], optional: [] },
    },
    config: {},
    parallelism: null,
    deadlineMs: Object.fromEntries(commands.map(({ name }) => [name, 1000])),
    retry: { attemptsMax: 4, backoffBaseMs: 1000, backoffMaxMs: 60_000 },
    ...more,
  };
}

export function config(plugins: readonly PluginInstance[], queueDepthMax = 1_000_000): Config {
  return {
    service: { workersMax: 2, queueDepthMax },
    state: { path: '/state', retention: { jobsMs: 1e12, jobsMax: 1e9 } },
    plugins: Object.fromEntries(plugins.map(instance => [instance.name, instance])),
    pipelines: [],
  } as unknown as Config;
}

type Held = { frame: TaskFrame; slot: SlotName };

export class Simulation {
  readonly store: Store = openMemoryStore();
  readonly runs: { id: string; attempt: number }[] = [];
  readonly accepted: string[] = [];
  readonly refused: string[] = [];
  readonly held: Held[] = [];
  nowUs = 1_700_000_000_000_000;
  alarmUs: number | null = null;
  readonly #config: Config;
  readonly #faults: Faults;
  readonly #random: () => number;
  #loop!: Loop;
  #due = false;
  #asks = 0;
  #life = 0;

  constructor(config: Config, faults: Faults, random: () => number) {
    this.#config = config;
    this.#faults = faults;
    this.#random = random;
    this.start();
  }

  /** A start of the service over whatever the store holds; a kill before it when it ran. */
  start(): void {
    const life = ++this.#life;
    this.held.length = 0;
    this.alarmUs = null;
    this.#due = false;
    const toSelf = (message: InnerMessage) => {
      if (life === this.#life) this.#loop.deliver('job', message);
    };
    this.#loop = startLoop({
      store: this.store,
      clock: { nowUs: () => ++this.nowUs },
      schedule: () => {
        this.#due = true;
      },
      send: () => {},
      reply: (_, value) => this.#replied(value as SubmitJobsReply),
      onFailure: error => {
        throw error;
      },
    });
    this.#loop.setActors({ job: { receive() {} }, pipeline: { receive() {} } });
    const job = startJobActor({
      reader: this.store,
      config: this.#config,
      blockKeys: makeBlockKeys(() => Math.floor(this.#random() * 2 ** 32), newestBlock(this.store)),
      random: this.#random,
      gauges: new Gauges(),
      nowMs: Math.floor(this.nowUs / 1000),
      self: toSelf,
      alarm: atUs => {
        this.alarmUs = atUs;
      },
      startHost: ({ name }) => this.#host(name),
    });
    this.#loop.setActors({ job, pipeline: { receive() {} } });
    toSelf({ kind: 'load' });
  }

  tell(message: InnerMessage): void {
    this.#loop.deliver('job', message);
  }

  /** Jobs of one message, with these payloads. */
  submit(pluginName: string, commandName: string, ...payloads: readonly unknown[]): void {
    const replyTo = { thread: 'edge', ask: ++this.#asks };
    const message = {
      plugin: pluginName,
      command: commandName,
      payloads: payloads.map(pack),
      submittedBy: 'test',
      event: null,
    };
    this.#loop.deliver('job', { kind: 'submit', replyTo, ...message });
  }

  turn(): void {
    this.#due = false;
    this.#loop.turn();
  }

  /** One thing happens: a turn, an outcome, a fault, or time passes. False when nothing is left to happen. */
  step(): boolean {
    if (this.#due) {
      this.turn();
      return true;
    }
    const dice = this.#random;
    if (this.#faults.serviceKilled > dice() && this.held.length > 0) {
      if (this.#faults.clockSetBack > dice()) this.nowUs -= hourUs;
      this.start();
      return true;
    }
    const place = Math.floor(dice() * this.held.length);
    const held = this.held[place];
    if (held) {
      this.#happen(held, place);
      return true;
    }
    if (this.alarmUs === null) return false;
    this.nowUs = Math.max(this.nowUs, this.alarmUs);
    this.alarmUs = null;
    this.tell({ kind: 'alarm' });
    return true;
  }

  run(): void {
    while (this.step());
  }

  #replied(reply: SubmitJobsReply): void {
    if (reply.kind === 'accepted') {
      for (let at = 0; at < reply.ids.length; at += jobIdBytes) {
        this.accepted.push(formatId(reply.ids.subarray(at, at + jobIdBytes)));
      }
    } else if (reply.kind === 'refused') this.refused.push(reply.refusal);
  }

  #host(name: SlotName): PluginHost {
    const { held } = this;
    return {
      configure() {},
      submit: frame => void held.push({ frame, slot: name }),
      stop: async () => {},
    };
  }

  #happen({ frame, slot }: Held, place: number): void {
    const dice = this.#random;
    const { frameId } = frame;
    const tasks = frame.payloads.length;
    if (this.#faults.hostLost > dice()) {
      for (const other of this.held.filter(held => held.slot === slot)) this.held.splice(this.held.indexOf(other), 1);
      this.tell({ kind: 'host_lost', slot, reason: 'killed' });
      return;
    }
    this.held.splice(place, 1);
    const unstarted = this.#faults.returned > dice() ? Math.floor(dice() * tasks) : 0;
    const done = tasks - unstarted;
    const outcomes = Array.from({ length: done }, (_, task) => this.#outcome(frame, task));
    if (done > 0) this.tell({ kind: 'outcomes', slot, frameId, outcomes });
    if (unstarted > 0)
      this.tell({ kind: 'returned', slot, frameId, tasks: Array.from({ length: unstarted }, (_, k) => done + k) });
  }

  #outcome(frame: TaskFrame, task: number): Outcome {
    const dice = this.#random;
    const id = formatId(frame.ids.subarray(task * 16, task * 16 + 16));
    this.runs.push({ id, attempt: frame.attempts[task]! });
    const common = { task, startedUs: this.nowUs, runUs: 10 };
    if (this.#faults.timeout > dice())
      return { ...common, verdict: 'timed_out', permanent: false, body: failure('too late') };
    if (this.#faults.permanent > dice())
      return { ...common, verdict: 'error', permanent: true, body: failure('never') };
    if (this.#faults.error > dice()) return { ...common, verdict: 'error', permanent: false, body: failure('not now') };
    return { ...common, verdict: 'ok', permanent: false, body: encodeBody({ result: pack(task) }) };
  }
}

function failure(message: string) {
  return encodeBody({ error: Buffer.from(message) });
}

/** A small generator of dice from a seed (mulberry32). */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
