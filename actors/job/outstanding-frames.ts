// The frames that hosts have, as of the last commit, and the cancels that wait for a host's word. It outlives the memory of the actors, so that no work is lost with a failed turn.
import type { PluginHost } from '../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import type { HostSlotName } from './host-slot.ts';
import type { JobFrame } from './job-frame.ts';

type HostFrames = { readonly host: PluginHost; readonly frames: Map<number, JobFrame> };

export type WaitingCancel = { readonly replyTo: ReplyTo; readonly id: JobId };

/** Only effects change it, and effects run when their turn is on disk. */
export class OutstandingFrames {
  readonly #slots = new Map<HostSlotName, HostFrames>();
  /** Callers that are answered once no code of the job, or of the run's jobs, can begin any more. */
  readonly cancels = new Set<WaitingCancel>();
  #ids = 0;

  /** The id of the next frame. No two generations of actors give the same one. */
  nextId(): number {
    return ++this.#ids;
  }

  /** The id that was given last. */
  get newestId(): number {
    return this.#ids;
  }

  hostOf(slot: HostSlotName): PluginHost | null {
    return this.#slots.get(slot)?.host ?? null;
  }

  started(slot: HostSlotName, host: PluginHost): void {
    this.#slots.set(slot, { host, frames: new Map() });
  }

  ended(slot: HostSlotName): void {
    this.#slots.delete(slot);
  }

  sent(slot: HostSlotName, frame: JobFrame): void {
    this.#slots.get(slot)?.frames.set(frame.id, frame);
  }

  over(slot: HostSlotName, frameId: number): void {
    this.#slots.get(slot)?.frames.delete(frameId);
  }

  /** All hosts were stopped. */
  clear(): void {
    this.#slots.clear();
  }

  /** Newest first: if two frames name the same job, it is in the newer one. */
  all(): { readonly slot: HostSlotName; readonly frame: JobFrame }[] {
    const all = [...this.#slots].flatMap(([slot, { frames }]) =>
      Array.from(frames.values(), frame => ({ slot, frame })),
    );
    return all.sort((a, b) => b.frame.id - a.frame.id);
  }
}
