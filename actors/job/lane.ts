// A lane: what waits and runs of one plugin instance. Lanes take turns, so that a flood of one does not starve another.
import { type PluginInstance, type RetryPolicy, retryDefault } from '../../config/config.ts';
import { Backlog } from './backlog.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { frameUsTarget, Pace, programsUsTarget } from './pace.ts';
import type { Hold } from './records/hold.ts';
import { Runners } from './runners.ts';

/** What the dispatcher must know of a command. */
export type CommandLane = {
  readonly name: string;
  /** The name of the manifest that it is of. */
  readonly plugin: string;
  readonly retrySafe: boolean;
  readonly replacesState: boolean;
  readonly deadlineMs: number;
  readonly pace: Pace;
  /** So many jobs of it may be under way in each of its runners; 1: it has none. */
  readonly concurrency: number;
  readonly runners: Runners;
};

/** Threads, processes that stay, or a program for each attempt; and what has several jobs under way at once. */
export type LaneKind = 'threads' | 'persistent' | 'attempts' | 'concurrent';

export class Lane extends Backlog {
  /** Jobs that hosts hold, and how many of these are under way: of a frame whose jobs run one after another, one. */
  running = 0;
  inFlight = 0;
  /** Its jobs run apart from those of all other plugins: it has ended hosts lately. */
  isIsolated = false;
  /** The same frames by the name of the manifest that they run, which may be that of a configuration before. */
  readonly #framesOf = new Map<string, number>();
  /** Null: the configuration does not have the plugin. */
  instance: PluginInstance | null = null;
  /** Not null: nothing of it is handed out. The state sets it. */
  hold: Hold | null = null;
  /** What waits for commands that the plugin does not have, by their names. */
  readonly heldByCommand = new Map<string, Backlog>();
  /** Jobs that were running alone when the service ended, and whose command is not there to say whether they may run again. */
  readonly lost: OpenAttempt[] = [];
  /** Jobs that wait for the time of their next attempt. */
  delayed = 0;
  /** Of the newest configuration that had the plugin. */
  retry: RetryPolicy = retryDefault;
  /** One of its commands has runners. */
  #isConcurrent = false;
  #commands = new Map<string, CommandLane>();
  /** Commands of earlier configurations, too. */
  readonly #known = new Map<string, CommandLane>();
  readonly name: string;
  readonly #holdOfCommand: (plugin: string, command: string) => Hold;

  constructor(name: string, holdOfCommand: (plugin: string, command: string) => Hold) {
    super();
    this.name = name;
    this.#holdOfCommand = holdOfCommand;
  }

  /** Takes over a new configuration; measured paces stay while its jobs run as they did. */
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
            runners: known?.runners ?? new Runners(),
          },
        ];
      }),
    );
    if (instance) this.retry = instance.retry;
    for (const [name, command] of this.#commands) this.#known.set(name, command);
  }

  /** Why jobs of this command are not handed out; null: they are. */
  holdOf(command: string): Hold | null {
    return this.hold ?? (this.#commands.has(command) ? null : this.#holdOfCommand(this.name, command));
  }

  /** Where jobs of a command wait that the plugin does not have. */
  heldBacklog(command: string): Backlog {
    let backlog = this.heldByCommand.get(command);
    if (!backlog) {
      backlog = new Backlog();
      this.heldByCommand.set(command, backlog);
    }
    return backlog;
  }

  /** Jobs of it that wait, held or not. */
  get queued(): number {
    let queued = this.waiting + this.lost.length;
    for (const backlog of this.heldByCommand.values()) queued += backlog.waiting;
    return queued;
  }

  /** Jobs of it that wait and are not handed out. */
  get held(): number {
    if (this.hold === null && this.heldByCommand.size === 0 && this.lost.length === 0) return 0;
    let held = this.hold ? this.waiting : 0;
    for (const backlog of this.heldByCommand.values()) held += backlog.waiting;
    return held + this.lost.length;
  }

  /** By what its jobs run in. */
  get kind(): LaneKind {
    const { instance } = this;
    if (instance?.manifest.runtime !== 'process') return 'threads';
    return instance.manifest.persistent === undefined ? 'attempts' : 'persistent';
  }

  /** By what its next job runs in: one that is to be alone has no runner. */
  get nextKind(): LaneKind {
    if (!this.#isConcurrent || this.attempts.peek()?.custody === 'suspect') return this.kind;
    return (this.#nextCommand?.concurrency ?? 1) > 1 ? 'concurrent' : this.kind;
  }

  /** Whether one of so many runners of the next command has room. */
  hasRunner(count: number): boolean {
    const command = this.#nextCommand;
    return command !== undefined && command.runners.free(count, command.concurrency) >= 0;
  }

  get #nextCommand(): CommandLane | undefined {
    const name = this.nextCommand;
    return name === undefined ? undefined : this.#commands.get(name);
  }

  command(name: string): CommandLane | undefined {
    return this.#commands.get(name);
  }

  /** As it was when a configuration last had it. */
  lastKnown(name: string): CommandLane | undefined {
    return this.#known.get(name);
  }

  /** A frame of the command goes out, 1, or is over, -1. */
  countFrame({ plugin }: CommandLane, change: 1 | -1): void {
    this.#framesOf.set(plugin, (this.#framesOf.get(plugin) ?? 0) + change);
  }

  /** Whether a host holds a frame of it that runs the manifest of this name. */
  runs(plugin: string): boolean {
    return (this.#framesOf.get(plugin) ?? 0) > 0;
  }

  /** How many more of its jobs may be under way: `parallelism` bounds them. */
  get room(): number {
    return (this.instance?.parallelism ?? Number.POSITIVE_INFINITY) - this.inFlight;
  }
}
