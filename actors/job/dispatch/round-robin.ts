// Decides which lane dispatches next: lanes take turns.
import type { Lane } from './lane.ts';

export class RoundRobin {
  readonly #lanes: ReadonlyMap<string, Lane>;
  readonly #isOurs: (lane: Lane) => boolean;
  #order: readonly Lane[] = [];
  /** The position of the lane that is asked first. */
  #place = 0;

  /** `isOurs`: whether a lane takes turns here. */
  constructor(lanes: ReadonlyMap<string, Lane>, isOurs: (lane: Lane) => boolean) {
    this.#lanes = lanes;
    this.#isOurs = isOurs;
  }

  /** The next lane that has waiting jobs, is not held and is below its limits. Until `advance`, the same lane is asked first. */
  next(): Lane | null {
    const lanes = this.#inOrder();
    for (let step = 0; step < lanes.length; step++) {
      const lane = lanes[(this.#place + step) % lanes.length]!;
      if (lane.waiting > 0 && lane.hold === null && this.#isOurs(lane) && !isAtLimit(lane, this.#lanes)) return lane;
    }
    return null;
  }

  /** Makes `next` ask the lane after this one first. */
  advance(lane: Lane): void {
    const lanes = this.#inOrder();
    this.#place = (lanes.indexOf(lane) + 1) % lanes.length;
  }

  /** All lanes, in the order of their creation. Lanes are never removed. */
  #inOrder(): readonly Lane[] {
    if (this.#order.length !== this.#lanes.size) this.#order = [...this.#lanes.values()];
    return this.#order;
  }
}

/** Whether the plugin's limits leave no room for another job. `lanes`: all lanes. */
export function isAtLimit(lane: Lane, lanes: ReadonlyMap<string, Lane>): boolean {
  if (lane.room <= 0) return true;
  const manifest = lane.instance?.manifest;
  if (!manifest || manifest.concurrencySafe) return false;
  for (const other of lanes.values()) if (other.runs(manifest.name)) return true;
  return false;
}
