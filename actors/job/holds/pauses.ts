// The pauses that have not ended. While there are none, a check costs one comparison.

import type { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import type { Lane, Probe } from '../dispatch/lane.ts';
import { isWebhook } from '../records/counts.ts';
import type { Hold } from '../records/hold.ts';
import {
  decodePause,
  encodePause,
  hasExemptions,
  isRestoreHold,
  type Pause,
  type PauseTarget,
  pauseKey,
  pauseText,
} from '../records/pause.ts';

const system: PauseTarget = { kind: 'system', name: '', command: null };
const noCommands: ReadonlyMap<string, Hold> = new Map();

export class Pauses {
  readonly #known = new Map<string, Pause>();
  /** By the key of a pause whose breaker is half open: when the pause expired, in µs. */
  readonly #probing = new Map<string, number>();

  constructor(reader: Reader, setAside: SetAside) {
    for (const { key, value } of reader.scan('pauses', {})) {
      const pause = setAside.read('pauses', key, () => decodePause(key, value));
      if (pause) this.#known.set(pauseKey(pause), pause);
    }
  }

  /** Begins a pause, which replaces an earlier pause of the same target. */
  put(turn: Turn, pause: Pause): void {
    const key = pauseKey(pause);
    this.#known.set(key, pause);
    this.#probing.delete(key);
    turn.batch.put('pauses', Buffer.from(key), encodePause(pause));
  }

  /** Makes pauses with a beginning in the future begin now. Such a pause ends at its end by the system's clock or, if it has none, after its length. */
  shorten(turn: Turn): void {
    const sinceUs = turn.nowUs;
    for (const pause of this.#known.values()) {
      const { lastsUs, endUs } = pause;
      const untilUs = endUs ?? (lastsUs === undefined ? undefined : sinceUs + lastsUs);
      if (untilUs !== undefined && pause.sinceUs > sinceUs) this.put(turn, { ...pause, sinceUs, untilUs });
    }
  }

  /** Removes the pause of this target and returns it; null: there is none. */
  remove(turn: Turn, target: PauseTarget): Pause | null {
    const key = pauseKey(target);
    const pause = this.#known.get(key) ?? null;
    if (pause) turn.batch.remove('pauses', Buffer.from(key));
    this.#known.delete(key);
    this.#probing.delete(key);
    return pause;
  }

  /**
   * Makes the breaker that began this pause half open: its plugin, and each instance that builds on it, runs one trial job at a time, and
   * the end of such a job closes the breaker or opens it again. Called when the pause has expired.
   */
  probe(pause: Pause): void {
    this.#probing.set(pauseKey(pause), pause.untilUs!);
  }

  /**
   * Ends the half-open state of all breakers. Called when the configuration changes, because the new one may lack these breakers. `expired`
   * then returns their pauses again, and each is ended, or its breaker becomes half open again (`endInTime`).
   */
  endProbes(): void {
    this.#probing.clear();
  }

  /** The half-open breaker whose trial jobs the lane sends: its own, otherwise that of a plugin that it builds on. Null: there is none. */
  probeOf({ name, instance }: Lane): Probe | null {
    if (this.#probing.size === 0) return null;
    for (const plugin of [name, ...(instance?.bases ?? [])]) {
      const sinceUs = this.#probing.get(pauseKey({ kind: 'plugin', name: plugin, command: null }));
      if (sinceUs !== undefined) return { plugin, sinceUs };
    }
    return null;
  }

  /** The pause of this plugin instance, even if its breaker is half open. Null: there is none. */
  ofInstance(name: string): Pause | null {
    return this.#known.get(pauseKey({ kind: 'plugin', name, command: null })) ?? null;
  }

  /** Whether the whole service is paused, and jobs can be exempt from this pause (exempt.ts). */
  get haveExemptions(): boolean {
    if (this.#known.size === 0) return false;
    const pause = this.#find(system);
    return pause !== null && hasExemptions(pause);
  }

  /** The pause of a restored state that nobody has resumed yet. Null: there is none. */
  get ofRestore(): Pause | null {
    if (this.#known.size === 0) return null;
    const pause = this.#find(system);
    return pause && isRestoreHold(pause) ? pause : null;
  }

  /** The pause that holds the runs of this pipeline: the pipeline's own, otherwise that of the service. Null: no pause holds them. */
  ofPipeline(name: string): Pause | null {
    if (this.#known.size === 0) return null;
    return this.#find({ kind: 'pipeline', name, command: null }) ?? this.#find(system);
  }

  /**
   * The hold that a pause puts on the whole plugin instance: the pause of the instance, otherwise of a plugin that it builds on, otherwise of
   * the service. Null: there is no such pause.
   */
  ofLane(lane: Lane): Hold | null {
    if (this.#known.size === 0) return null;
    const pause = this.#ofPlugin(lane, null)[0] ?? this.#find(system);
    return pause && holdBy(pause, lane);
  }

  /** By command: the holds of the commands that are paused individually, in this plugin instance or in a plugin that it builds on. */
  commandsOf(lane: Lane): ReadonlyMap<string, Hold> {
    if (this.#known.size === 0) return noCommands;
    const held = (lane.instance?.manifest.commands ?? []).flatMap(({ name }) => {
      const [pause] = this.#ofPlugin(lane, name);
      return pause ? [[name, holdBy(pause, lane)] as const] : [];
    });
    return new Map(held);
  }

  /** The pause that refuses a new job of this command from this submitter. Null: no pause does. */
  rejecting(lane: Lane, command: string, submittedBy: string): Pause | null {
    if (this.#known.size === 0) return null;
    if (isWebhook(submittedBy) && this.ofRestore) return this.ofRestore;
    const found = [...this.#ofPlugin(lane, command), ...this.#ofPlugin(lane, null), this.#find(system)];
    return found.find(pause => pause?.rejects) ?? null;
  }

  /** The pause that refuses a new run of this pipeline from this submitter. Null: no pause does. */
  rejectingRuns(pipeline: string, submittedBy: string): Pause | null {
    if (this.#known.size === 0) return null;
    if (isWebhook(submittedBy) && this.ofRestore) return this.ofRestore;
    const found = [this.#find({ kind: 'pipeline', name: pipeline, command: null }), this.#find(system)];
    return found.find(pause => pause?.rejects) ?? null;
  }

  /** When the next pause expires, in µs; null: no pause expires. Pauses whose breaker is half open have expired already. */
  get nextEndUs(): number | null {
    let nextUs: number | null = null;
    for (const [key, { untilUs }] of this.#known)
      if (untilUs !== null && !this.#probing.has(key) && (nextUs === null || untilUs < nextUs)) nextUs = untilUs;
    return nextUs;
  }

  /** The pauses that have expired, except those whose breaker is half open. */
  expired(nowUs: number): readonly Pause[] {
    const hasExpired = ({ untilUs }: Pause) => untilUs !== null && untilUs <= nowUs;
    return [...this.#known.values()].filter(pause => hasExpired(pause) && !this.#probing.has(pauseKey(pause)));
  }

  /** The pauses of the plugin instance and of the plugins that it builds on, in this order. With `command`: the pauses of this command in them. */
  #ofPlugin({ name, instance }: Lane, command: string | null): readonly Pause[] {
    const names = [name, ...(instance?.bases ?? [])];
    return names.flatMap(plugin => this.#find({ kind: 'plugin', name: plugin, command }) ?? []);
  }

  #find(target: PauseTarget): Pause | null {
    const key = pauseKey(target);
    return this.#probing.has(key) ? null : (this.#known.get(key) ?? null);
  }
}

function holdBy(pause: Pause, { name }: Lane): Hold {
  const { command, sinceUs, untilUs } = pause;
  return {
    reason: 'paused',
    plugin: name,
    command,
    detail: pauseText(pause),
    sinceUs,
    ...(untilUs !== null && { untilUs }),
    ...(pause.kind === 'system' && { isOfService: true }),
  };
}
