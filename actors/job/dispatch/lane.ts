// A lane: the waiting and running jobs of one plugin instance. Lanes take turns, which keeps one plugin from starving another.
import { isDeepStrictEqual } from 'node:util';
import { type PluginInstance, type RetryPolicy, retryDefault } from '../../../config/config.ts';
import { Breaker } from '../holds/breaker.ts';
import type { OpenAttempt } from '../open-attempt.ts';
import type { Hold } from '../records/hold.ts';
import { Backlog } from './backlog.ts';
import { frameUsTarget, Pace, programsUsTarget } from './pace.ts';
import { Runners } from './runners.ts';

/** A command of a lane: its settings, and the measurements and runners of its jobs. */
export type CommandLane = {
  readonly name: string;
  /** The plugin's name in its manifest, which several instances may share. */
  readonly plugin: string;
  readonly retrySafe: boolean;
  readonly replacesState: boolean;
  readonly deadlineMs: number;
  readonly pace: Pace;
  /** How many jobs each of the command's runners may run at once. 1: the command has no runners. */
  readonly concurrency: number;
  readonly runners: Runners;
};

/** A half-open breaker (breaker.ts): its plugin, and when its pause expired, in µs. Jobs sent since then are its trial jobs. */
export type Probe = { readonly plugin: string; readonly sinceUs: number };

/** A frame (job-frame.ts) that a host has, as its lane knows it. */
type LaneFrame = { readonly command: CommandLane; readonly sentUs: number };

/** The kind of worker that runs jobs of a lane: threads, persistent processes, a program per attempt, or runners. */
export type LaneKind = 'threads' | 'persistent' | 'attempts' | 'concurrent';

export class Lane extends Backlog {
  /** The number of jobs that hosts have. */
  running = 0;
  /** Like `running`, but the jobs of a frame without a runner, which run one after another, count as one. */
  inFlight = 0;
  /** Whether the jobs of the lane run one at a time in the host for isolated plugins, because they have recently ended several hosts. */
  isIsolated = false;
  /** The frames that hosts have. */
  readonly frames = new Set<LaneFrame>();
  /** Null: the plugin instance is not configured, or is disabled. */
  instance: PluginInstance | null = null;
  /** The hold of the whole lane. Null: the lane as a whole is not held, though some of its commands may be. Set by `JobState`. */
  hold: Hold | null = null;
  /** By command: jobs of missing or paused commands that were moved out of the way of other jobs. */
  readonly heldByCommand = new Map<string, Backlog>();
  /** Jobs whose attempt is `lost`: they wait until their command is available again. */
  readonly lost: OpenAttempt[] = [];
  /** The circuit breaker. Null: none is configured. */
  breaker: Breaker | null = null;
  /** The half-open breaker whose trial jobs the lane sends. Null: there is none. */
  probe: Probe | null = null;
  /** The retry policy in the newest configuration since the start that has this plugin. If no configuration had it: the default policy. */
  retry: RetryPolicy = retryDefault;
  /** Whether any command of the plugin has runners. */
  #isConcurrent = false;
  #commands = new Map<string, CommandLane>();
  /** The commands that are not paused. */
  #runnable: ReadonlyMap<string, CommandLane> = this.#commands;
  #paused: ReadonlyMap<string, Hold> = new Map();
  /** By command, or null for the holds of the whole lane: when the last hold ended since the start of the actors, in µs. */
  readonly #freed = new Map<string | null, number>();
  /** The commands of the current and of earlier configurations. */
  readonly #known = new Map<string, CommandLane>();
  readonly name: string;
  readonly #holdOfCommand: (plugin: string, command: string) => Hold;

  constructor(name: string, holdOfCommand: (plugin: string, command: string) => Hold) {
    super();
    this.name = name;
    this.#holdOfCommand = holdOfCommand;
  }

  /** Applies a new configuration. The commands of the previous one keep their measured paces if the kind of the lane stays the same. */
  configure(instance: PluginInstance | null): void {
    const kind = this.kind;
    this.instance = instance;
    const before = kind === this.kind ? this.#commands : new Map<string, CommandLane>();
    const targetUs = this.kind === 'attempts' ? programsUsTarget : frameUsTarget;
    this.#isConcurrent = instance?.concurrency !== undefined;
    this.#commands = new Map(
      (instance?.manifest.commands ?? []).map(({ name, retrySafe, replacesState = false }) => {
        const known = before.get(name);
        return [
          name,
          {
            name,
            plugin: instance!.manifest.name,
            retrySafe,
            replacesState,
            deadlineMs: instance!.deadlineMs[name]!,
            pace: known?.pace ?? new Pace(targetUs),
            concurrency: instance!.concurrency?.[name] ?? 1,
            // Known runners may have jobs of an earlier configuration.
            runners: this.#known.get(name)?.runners ?? new Runners(),
          },
        ];
      }),
    );
    this.#runnable = this.#commands;
    if (instance) this.retry = instance.retry;
    const limits = instance?.breaker;
    if (!isDeepStrictEqual(limits, this.breaker?.limits)) this.breaker = limits ? new Breaker(limits) : null;
    for (const [name, command] of this.#commands) this.#known.set(name, command);
  }

  /** The hold of the jobs of this command. Null: they are not held. `isExempt`: whether to ignore a pause of the service. */
  holdOf(command: string, isExempt = false): Hold | null {
    if (this.hold && !(isExempt && this.hold.isOfService)) return this.hold;
    return this.#commands.has(command) ? (this.#paused.get(command) ?? null) : this.#holdOfCommand(this.name, command);
  }

  /** The hold of the jobs of this command, other than a pause. A pause can apply to them at the same time. Null: there is no such hold. */
  holdBesidesPauses(command: string): Hold | null {
    if (this.hold && this.hold.reason !== 'paused') return this.hold;
    return this.#commands.has(command) ? null : this.#holdOfCommand(this.name, command);
  }

  /** Records that a hold of this command has ended. `command` null: a hold of the whole lane. */
  noteFreed(command: string | null, nowUs: number): void {
    this.#freed.set(command, nowUs);
  }

  /** When the last hold of this command's jobs ended, in µs; 0: no hold has ended since the start. */
  freeSinceUs(command: string): number {
    return Math.max(this.#freed.get(null) ?? 0, this.#freed.get(command) ?? 0);
  }

  /** Pauses exactly these commands. */
  pauseCommands(paused: ReadonlyMap<string, Hold>): void {
    this.#paused = paused;
    this.#runnable =
      paused.size === 0 ? this.#commands : new Map([...this.#commands].filter(([name]) => !paused.has(name)));
  }

  /** The backlog in which jobs of this missing or paused command wait. Creates it if there is none. */
  heldBacklog(command: string): Backlog {
    let backlog = this.heldByCommand.get(command);
    if (!backlog) {
      backlog = new Backlog();
      this.heldByCommand.set(command, backlog);
    }
    return backlog;
  }

  /** The number of jobs of paused commands that wait in the lane itself. */
  get ofPaused(): number {
    let jobs = 0;
    for (const command of this.#paused.keys()) jobs += this.waitingOf(command);
    return jobs;
  }

  /** The number of jobs in the lane that wait to be dispatched, including held ones. */
  get queued(): number {
    let queued = this.waiting + this.lost.length;
    for (const backlog of this.heldByCommand.values()) queued += backlog.waiting;
    return queued;
  }

  /**
   * The number of waiting jobs that a hold keeps from starting. Unless the whole lane is held, jobs of a missing command count only after
   * they have been moved to `heldByCommand`.
   */
  get held(): number {
    if (this.hold === null && this.#paused.size === 0 && this.heldByCommand.size === 0 && this.lost.length === 0)
      return 0;
    let held = this.hold ? this.waiting : this.ofPaused;
    for (const backlog of this.heldByCommand.values()) held += backlog.waiting;
    return held + this.lost.length;
  }

  /** The number of jobs that a pause holds. */
  get paused(): number {
    if (this.hold) return this.hold.reason === 'paused' ? this.held : 0;
    let paused = this.ofPaused;
    for (const [command, { waiting }] of this.heldByCommand)
      if (this.holdOf(command)?.reason === 'paused') paused += waiting;
    return paused;
  }

  /** The kind of worker for jobs of the lane that need no runner. */
  get kind(): LaneKind {
    const { instance } = this;
    if (instance?.manifest.runtime !== 'process') return 'threads';
    return instance.manifest.persistent === undefined ? 'attempts' : 'persistent';
  }

  /** The kind of worker for the next job of the lane. A suspect has no runner, because it runs alone. */
  get nextKind(): LaneKind {
    if (!this.#isConcurrent || this.attempts.peek()?.custody === 'suspect') return this.kind;
    return (this.#nextCommand?.concurrency ?? 1) > 1 ? 'concurrent' : this.kind;
  }

  /** Whether the next job of the lane has times (records/options.ts). Such a job may have to end instead of starting. */
  get nextIsTimed(): boolean {
    return (this.attempts.peek()?.open ?? this.nextBlock)?.isTimed === true;
  }

  /** Whether one of the first `count` runners of the next command has room. */
  hasRunner(count: number): boolean {
    const command = this.#nextCommand;
    return command !== undefined && command.runners.free(count, command.concurrency) >= 0;
  }

  get #nextCommand(): CommandLane | undefined {
    const name = this.nextCommand;
    return name === undefined ? undefined : this.#runnable.get(name);
  }

  command(name: string): CommandLane | undefined {
    return this.#commands.get(name);
  }

  /** The command. Undefined: it is missing or paused. */
  runnable(name: string): CommandLane | undefined {
    return this.#runnable.get(name);
  }

  /** The command as defined by the newest configuration that had it. Undefined: no configuration since the start had it. */
  lastKnown(name: string): CommandLane | undefined {
    return this.#known.get(name);
  }

  /** Whether a host has a frame of this lane whose plugin had this name in its manifest at dispatch or adoption. */
  runs(plugin: string): boolean {
    for (const { command } of this.frames) if (command.plugin === plugin) return true;
    return false;
  }

  /** How many more jobs of the lane may run at once. At most `parallelism` may run in total, and one trial job of a half-open breaker. */
  get room(): number {
    const room = (this.instance?.parallelism ?? Number.POSITIVE_INFINITY) - this.inFlight;
    if (this.probe === null) return room;
    let trials = 0;
    for (const { sentUs } of this.frames) if (sentUs >= this.probe.sinceUs) trials++;
    return Math.min(room, 1 - trials);
  }
}
