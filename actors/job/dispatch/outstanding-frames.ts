// The frames that hosts have, and the cancels whose callers wait for an answer, as of the last commit. Both outlive the actors, so a
// failed turn loses no work.
import type { PluginHost } from '../../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../../runtime/ids.ts';
import type { ReplyTo } from '../../../runtime/turn.ts';
import type { HostSlotName } from './host-slot.ts';
import type { JobFrame } from './job-frame.ts';

type HostFrames = { readonly host: PluginHost; readonly frames: Map<number, JobFrame> };

export type WaitingCancel = { readonly replyTo: ReplyTo; readonly id: JobId };

/**
 * The frames and cancels agree with the store: they are changed only by effects, which run after the commit of their turn, and by the
 * adoption of frames (adoption.ts).
 */
export class OutstandingFrames {
  readonly #slots = new Map<HostSlotName, HostFrames>();
  /** Callers that have cancelled a job or a run. Each is answered when no code of the cancelled jobs can start any more. */
  readonly cancels = new Set<WaitingCancel>();
  #ids = 0;

  /** Returns a new frame id. Ids are unique even across restarts of the actors. */
  nextId(): number {
    return ++this.#ids;
  }

  /** The last id that `nextId` has returned; 0: none yet. */
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

  finished(slot: HostSlotName, frameId: number): void {
    this.#slots.get(slot)?.frames.delete(frameId);
  }

  /** Forgets all frames and hosts. Must be called when all hosts have been stopped. */
  clear(): void {
    this.#slots.clear();
  }

  /** All frames, newest first. If two frames contain the same job, the newer frame has the job's current attempt. */
  all(): { readonly slot: HostSlotName; readonly frame: JobFrame }[] {
    const all = [...this.#slots].flatMap(([slot, { frames }]) =>
      Array.from(frames.values(), frame => ({ slot, frame })),
    );
    return all.sort((a, b) => b.frame.id - a.frame.id);
  }
}
