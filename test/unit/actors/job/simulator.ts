// The job actor alone, step by step: its own clock, dice, store and hosts. Random lives of the whole ledger are in test/service/simulation.
import { type InnerMessage, type JobActor, startJobActor } from '../../../../actors/job/actor.ts';
import type { HostSlotName } from '../../../../actors/job/dispatch/host-slot.ts';
import { Gauges } from '../../../../actors/job/gauges.ts';
import type {
  HeldJobs,
  HeldReply,
  JobMessage,
  PipelineCalls,
  SubmitJobs,
  SubmitJobsReply,
  SubmitReply,
  Waits,
  WaitsReply,
} from '../../../../actors/job/protocol.ts';
import { newestBlock } from '../../../../actors/job/records/block.ts';
import type { QueueReply } from '../../../../actors/job/reports/queue-protocol.ts';
import type { Config, PluginInstance } from '../../../../config/config.ts';
import { encodeBody } from '../../../../runtime/host/wire/outcome.ts';
import type { Outcome, PluginHost, TaskFrame } from '../../../../runtime/host/wire/plugin-host.ts';
import { formatId, jobIdBytes, makeBlockKeys, parseId } from '../../../../runtime/ids.ts';
import { type Loop, startLoop, turnMsMax } from '../../../../runtime/loop.ts';
import { pack } from '../../../../runtime/packing.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { Dice } from '../../../service/simulation/dice.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';

/** Stands in for the pipeline actor in a world without runs. */
export const noPipeline: PipelineCalls = {
  resumed() {},
  jobsSettled() {},
  startRun: () => ({ kind: 'refused', refusal: 'unknown_pipeline' }),
  isOpen: () => false,
  beginDelayed() {},
  endDelayed() {},
  callerOf: () => null,
  phaseOf: () => null,
  exemptSince: () => null,
  nextDeadlineUs: null,
  takeOverdue: () => [],
  begun: () => null,
  haveWaitingEvents: () => false,
  cancelRun: () => false,
};

export type Faults = {
  /** Chances, each between 0 and 1. */
  readonly error: number;
  readonly timeout: number;
  readonly returned: number;
  readonly hostLost: number;
  readonly serviceKilled: number;
  /** A plugin, or a command, is taken out of the configuration, or all are put back. */
  readonly reconfigured: number;
  /** A task of a plugin whose name begins with `killer` ends its host. */
  readonly killing: number;
};
export const calm: Faults = {
  error: 0,
  timeout: 0,
  returned: 0,
  hostLost: 0,
  serviceKilled: 0,
  reconfigured: 0,
  killing: 1,
};

export { command, plugin } from './instances.ts';

export const logSizes = { segmentBytes: 2 ** 20, churnBytes: 2 ** 24 };
/** How long jobs are held in these worlds. */
export const heldMs = 30 * 24 * 3_600_000;

export function config(plugins: readonly PluginInstance[], queueDepthMax = 1_000_000, waitingMax = 10_000_000): Config {
  return {
    service: { workersMax: 2, queueDepthMax, waitingMax },
    state: { path: '/state', retention: { jobsMs: 1e12, jobsMax: 1e9, heldMs }, log: logSizes },
    plugins: Object.fromEntries(plugins.map(instance => [instance.name, instance])),
    disabledPlugins: {},
    unusablePlugins: [],
    pipelines: [],
    schedules: [],
  } as unknown as Config;
}

type Reply = SubmitJobsReply | SubmitReply | WaitsReply | QueueReply | HeldReply;
type Held = { frame: TaskFrame; slot: HostSlotName };

export class Simulation {
  readonly store: Store = openMemoryStore();
  readonly runs: { id: string; attempt: number }[] = [];
  readonly accepted: string[] = [];
  readonly refused: string[] = [];
  readonly held: Held[] = [];
  /** Hosts that died, in order. */
  readonly killed: HostSlotName[] = [];
  nowUs = 1_700_000_000_000_000;
  alarmUs: number | null = null;
  /** The last answer to what a job waits for. */
  waits: Waits | null = null;
  /** Plugins whose jobs the sealed vault holds. */
  readonly sealed = new Set<string>();
  /** Plugins that may not receive their secrets any more. */
  readonly revoked = new Set<string>();
  /** How long each task runs. */
  runUs = 10;
  /** Frames that were sent although the configuration lacked their plugin or command. */
  readonly strays: TaskFrame[] = [];
  readonly #whole: Config;
  /** The configuration in force, also after a kill. */
  #config: Config;
  readonly #faults: Faults;
  readonly #random: () => number;
  #loop!: Loop;
  #job!: JobActor;
  /** Whether every turn has used up its time. */
  isSlow = false;
  #looks = 0;
  #due = false;
  #asks = 0;
  /** The last state of the queue. */
  #queue: QueueReply | null = null;
  /** The last answer to which jobs are held. */
  #heldJobs: readonly HeldJobs[] = [];
  #life = 0;

  constructor(config: Config, faults: Faults, random: () => number) {
    this.#whole = config;
    this.#config = config;
    this.#faults = faults;
    this.#random = random;
    this.start();
  }

  /** Starts the service over what the store holds. If it was running, it counts as killed. */
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
      stopwatch: () => (this.isSlow ? ++this.#looks * turnMsMax : 0),
      schedule: () => {
        this.#due = true;
      },
      send: () => {},
      reply: (_, value) => this.#replied(value as Reply),
      onFailure: error => {
        throw error;
      },
    });
    const job = startJobActor({
      reader: this.store,
      config: this.#config,
      blockKeys: makeBlockKeys(() => Math.floor(this.#random() * 2 ** 32), newestBlock(this.store)),
      random: this.#random,
      gauges: new Gauges(),
      vault: {
        waitsFor: name => (this.sealed.has(name) ? 'the vault does not open' : null),
        deliver: (_, name) => (this.revoked.has(name) ? { kind: 'revoked', reason: `${name} is revoked` } : null),
      },
      pipeline: noPipeline,
      nowMs: Math.floor(this.nowUs / 1000),
      self: toSelf,
      alarm: atUs => {
        this.alarmUs = atUs;
      },
      startHost: ({ name }) => this.#host(name),
    });
    this.#job = job;
    this.#loop.setHandler({
      begin: turn => job.begin(turn),
      receive(actor, message, turn) {
        if (actor === 'job') job.receive(message, turn);
        else job.reconfigure(message as Config);
      },
      end(turn) {
        while (job.dispatch(turn));
        job.close(turn);
      },
    });
    toSelf({ kind: 'load' });
  }

  /** The number of open blocks that are decoded in memory, apart from blocks that were just accepted. */
  get loadedBlocks(): number {
    return [...this.#job.state.open.values()].filter(({ block, cachedBytes }) => block && cachedBytes === 0).length;
  }

  /** The number of open blocks in memory. */
  get openBlocks(): number {
    return this.#job.state.open.size;
  }

  /** The number of blocks in the queue of the plugin. */
  queuedBlocks(plugin: string): number {
    return this.#job.state.lanes.get(plugin)!.blocks.length;
  }

  /** What a job that was accepted waits for. */
  waitsOf(id: string): Waits | null {
    this.waits = null;
    this.#loop.deliver('job', { kind: 'ask_waits', replyTo: { ask: ++this.#asks }, id: parseId(id) });
    this.turn();
    return this.waits;
  }

  /** The jobs that are held now, other than by a pause. */
  heldJobs(): readonly HeldJobs[] {
    this.#loop.deliver('job', { kind: 'ask_held', replyTo: { ask: ++this.#asks } });
    this.turn();
    return this.#heldJobs;
  }

  queue(): QueueReply {
    this.#loop.deliver('job', { kind: 'ask_queue', replyTo: { ask: ++this.#asks } });
    this.turn();
    return this.#queue!;
  }

  tell(message: InnerMessage | JobMessage): void {
    this.#loop.deliver('job', message);
  }

  deliver(message: SubmitJobs): void {
    this.#loop.deliver('job', message);
  }

  /** Jobs of one message, with these payloads. */
  submit(pluginName: string, commandName: string, ...payloads: readonly unknown[]): void {
    const replyTo = { ask: ++this.#asks };
    const message = {
      plugin: pluginName,
      command: commandName,
      payloads: payloads.map(pack),
      submittedBy: 'test',
      event: null,
    };
    this.#loop.deliver('job', { kind: 'submit', replyTo, ...message });
  }

  /** From now on, and after each kill, this configuration is in force. */
  reconfigure(next: Config): void {
    this.#config = next;
    this.#loop.deliver('ledger', next);
  }

  /** Whether a turn is due. */
  get isDue(): boolean {
    return this.#due;
  }

  turn(): void {
    this.#due = false;
    this.#loop.turn();
  }

  /** One thing happens: a turn, an outcome, a fault, or time passes. False when nothing is left to happen. */
  step({ mayReturn = true } = {}): boolean {
    if (this.#due) {
      this.turn();
      return true;
    }
    const dice = this.#random;
    if (this.#faults.serviceKilled > dice() && this.held.length > 0) {
      this.start();
      return true;
    }
    if (this.#faults.reconfigured > dice() && this.held.length > 0) {
      this.reconfigure(this.#config === this.#whole ? without(this.#whole, dice) : this.#whole);
      return true;
    }
    const place = Math.floor(dice() * this.held.length);
    const held = this.held[place];
    if (held) {
      this.#happen(held, place);
      return true;
    }
    if (this.alarmUs === null) {
      if (this.#config === this.#whole || !mayReturn) return false;
      // If only held jobs are left, the whole configuration returns, so that the world comes to its end.
      this.reconfigure(this.#whole);
      return true;
    }
    this.nowUs = Math.max(this.nowUs, this.alarmUs);
    this.alarmUs = null;
    this.tell({ kind: 'alarm' });
    return true;
  }

  run(): void {
    while (this.step());
  }

  /** The host dies with all it holds. */
  kill(slot: HostSlotName): void {
    for (const other of this.held.filter(held => held.slot === slot)) this.held.splice(this.held.indexOf(other), 1);
    this.killed.push(slot);
    this.tell({ kind: 'host_lost', slot, reason: 'killed', sentUpTo: Number.MAX_SAFE_INTEGER });
  }

  #replied(reply: Reply): void {
    if (reply.kind === 'accepted') {
      const ids = 'ids' in reply ? reply.ids : reply.id;
      for (let at = 0; at < ids.length; at += jobIdBytes) {
        this.accepted.push(formatId(ids.subarray(at, at + jobIdBytes)));
      }
      if ('rest' in reply && reply.rest) this.refused.push(reply.rest);
    } else if (reply.kind === 'refused') this.refused.push(reply.refusal);
    else if (reply.kind === 'queue') this.#queue = reply;
    else if (reply.kind === 'held') this.#heldJobs = reply.held;
    else this.waits = reply.waits;
  }

  #host(name: HostSlotName): PluginHost {
    const { held } = this;
    return {
      configure() {},
      submit: frame => {
        const { commands } = this.#config.plugins[frame.instance]?.manifest ?? { commands: [] };
        if (!commands.some(({ name }) => name === frame.command)) this.strays.push(frame);
        held.push({ frame, slot: name });
      },
      cancel() {},
      stop: async () => {},
    };
  }

  #happen({ frame, slot }: Held, place: number): void {
    const dice = this.#random;
    const { frameId } = frame;
    const tasks = frame.payloads.length;
    const isKiller = frame.instance.startsWith('killer') && this.#faults.killing > dice();
    if (isKiller || this.#faults.hostLost > dice()) {
      this.kill(slot);
      return;
    }
    this.held.splice(place, 1);
    const unstarted = this.#faults.returned > dice() ? Math.floor(dice() * tasks) : 0;
    const done = tasks - unstarted;
    const outcomes = Array.from({ length: done }, (_, task) => this.#outcome(frame, task));
    if (done > 0) this.tell({ kind: 'outcomes', slot, frameId, outcomes });
    const left = Array.from({ length: unstarted }, (_, k) => done + k);
    if (unstarted > 0) this.tell({ kind: 'returned', slot, frameId, tasks: left, reason: 'crowded' });
  }

  #outcome(frame: TaskFrame, task: number): Outcome {
    const dice = this.#random;
    const id = formatId(frame.ids.subarray(task * 16, task * 16 + 16));
    this.runs.push({ id, attempt: frame.attempts[task]! });
    const common = { task, startedUs: this.nowUs, runUs: this.runUs };
    if (this.#faults.timeout > dice())
      return { ...common, verdict: 'timed_out', permanent: false, body: failure('too late') };
    if (this.#faults.error > dice()) return { ...common, verdict: 'error', permanent: false, body: failure('not now') };
    return { ...common, verdict: 'ok', permanent: false, body: encodeBody({ result: pack(task) }) };
  }
}

/** The configuration without one of its plugins, or of their commands. */
export function without(whole: Config, dice: () => number): Config {
  const names = Object.keys(whole.plugins);
  const gone = names[Math.floor(dice() * names.length)]!;
  const { [gone]: removed, ...plugins } = whole.plugins;
  if (dice() < 0.5) return { ...whole, plugins };
  const { manifest } = removed!;
  return { ...whole, plugins: { ...plugins, [gone]: { ...removed!, manifest: { ...manifest, commands: [] } } } };
}

function failure(message: string) {
  return encodeBody({ error: Buffer.from(message) });
}

/** Dice from a seed. */
export function dice(seed: number): () => number {
  const dice = new Dice(seed, 'order');
  return () => dice.next();
}
