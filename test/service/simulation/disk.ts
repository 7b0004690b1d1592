// Where a world keeps its ledger: in memory, or on a real disk. Both give the same life.
import type { Store } from '../../../runtime/store/store.ts';
import { openKillableStore } from '../../support/killable-store.ts';
import { openMemoryStore } from '../../support/memory-store.ts';
import { Dice } from './dice.ts';
import type { Scenario } from './faults.ts';

export type WorldDisk = {
  readonly store: Store;
  /** Opens the ledger again, as the next process does. `isClean`: the process before ended in good order. */
  restart(isClean: boolean): void;
  /** Called before each turn; makes a checkpoint now and then. */
  step(): void;
  close(): void;
};

/** The chance of a checkpoint before a turn. */
const checkpointOdds = 0.05;

export function openDisk({ seed, disk }: Scenario): WorldDisk {
  if (disk === null)
    return { store: openMemoryStore(undefined, { copies: false }), restart() {}, step() {}, close() {} };
  const store = openKillableStore(disk);
  const dice = new Dice(seed, 'checkpoints');
  return {
    store,
    restart: isClean => store.restart(isClean),
    step() {
      if (dice.chance(checkpointOdds)) store.checkpoint();
    },
    close: () => store.close(),
  };
}
