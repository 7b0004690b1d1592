// A lane: what waits and runs of one plugin instance. Lanes take turns, so that a flood of one does not starve another.
import type { PluginInstance } from '../../config/config.ts';
import type { OpenBlock } from './open.ts';
import { frameUsTarget, Pace, programsUsTarget } from './pace.ts';
import { Queue } from './queue.ts';

/** One job that is to run although its block was passed already: a retry, a returned task, a suspect. */
export type Again = {
  readonly open: OpenBlock;
  readonly index: number;
  readonly attempt: number;
  /** It has a record in `retries`. */
  readonly kept: boolean;
  /** Nobody else shares its frame: what happens then is its own doing. */
  readonly alone: boolean;
};

/** What the dispatcher must know of a command. */
export type CommandLane = {
  readonly name: string;
  /** The name of the manifest that it is of. */
  readonly plugin: string;
  readonly retrySafe: boolean;
  readonly replacesState: boolean;
  readonly deadlineMs: number;
  readonly pace: Pace;
};

/** Threads, processes that stay, or a program for each attempt. */
export type LaneKind = 'threads' | 'persistent' | 'attempts';

export class Lane {
  readonly fresh = new Queue<OpenBlock>();
  readonly again = new Queue<Again>();
  /** Jobs in `fresh` and `again`. */
  waiting = 0;
  /** Frames, and jobs in them, that hosts hold. */
  framesOut = 0;
  running = 0;
  /** The same frames by the name of the manifest that they run, which may be that of a configuration before. */
  readonly #framesOf = new Map<string, number>();
  /** Null: the plugin is gone from the configuration; what waits fails. */
  instance: PluginInstance | null = null;
  #commands = new Map<string, CommandLane>();
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** Takes over a new configuration; measured paces stay while its jobs run as they did. */
  configure(instance: PluginInstance | null): void {
    const kind = this.kind;
    this.instance = instance;
    const before = kind === this.kind ? this.#commands : new Map<string, CommandLane>();
    const targetUs = this.kind === 'attempts' ? programsUsTarget : frameUsTarget;
    this.#commands = new Map(
      (instance?.manifest.commands ?? []).map(({ name, retrySafe, replacesState = false }) => {
        const pace = before.get(name)?.pace ?? new Pace(targetUs);
        const plugin = instance!.manifest.name;
        return [name, { name, plugin, retrySafe, replacesState, deadlineMs: instance!.deadlineMs[name]!, pace }];
      }),
    );
  }

  /** By what its jobs run in. */
  get kind(): LaneKind {
    const { instance } = this;
    if (instance?.manifest.runtime !== 'process') return 'threads';
    return instance.manifest.persistent === undefined ? 'attempts' : 'persistent';
  }

  command(name: string): CommandLane | undefined {
    return this.#commands.get(name);
  }

  enqueue(open: OpenBlock): void {
    this.fresh.push(open);
    this.waiting += open.count - open.next;
  }

  enqueueAgain(again: Again): void {
    this.again.push(again);
    this.waiting++;
  }

  /** A frame of the command goes out, 1, or is over, -1. */
  countFrame({ plugin }: CommandLane, change: 1 | -1): void {
    this.framesOut += change;
    this.#framesOf.set(plugin, (this.#framesOf.get(plugin) ?? 0) + change);
  }

  /** Whether a host holds a frame of it that runs the manifest of this name. */
  runs(plugin: string): boolean {
    return (this.#framesOf.get(plugin) ?? 0) > 0;
  }

  /** How many more of its frames may go out: `parallelism` bounds them. */
  get room(): number {
    return (this.instance?.parallelism ?? Number.POSITIVE_INFINITY) - this.framesOut;
  }
}
