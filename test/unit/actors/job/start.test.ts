// What a start reads of a ledger in which much has ended.
import { expect, it } from 'vitest';
import type { Table } from '../../../../runtime/store/store.ts';
import { calm, config, dice, plugin, Simulation } from './simulator.ts';

const openJobs = 5;

/** How many records of these tables are read from now on. */
function countRead({ store }: Simulation, tables: readonly Table[]): () => number {
  let read = 0;
  const note = (table: Table): void => {
    if (tables.includes(table)) read++;
  };
  const { get, peek, scan } = store;
  store.get = (table, key) => {
    note(table);
    return get(table, key);
  };
  store.peek = (table, key) => {
    note(table);
    return peek(table, key);
  };
  store.scan = function* (table, range) {
    for (const entry of scan(table, range)) {
      note(table);
      yield entry;
    }
  };
  return () => read;
}

it.each([1, 300])('reads the open jobs at a start, and none of %i that have ended', ended => {
  const world = new Simulation(config([plugin('fast'), plugin('held')]), calm, dice(1));
  for (let n = 0; n < ended; n++) {
    world.submit('fast', 'handle', { n });
    world.run();
  }
  world.sealed.add('held');
  world.tell({ kind: 'holds_changed' });
  for (let n = 0; n < openJobs; n++) {
    world.submit('held', 'handle', { n });
    world.turn();
  }
  expect(world.store.count('blocks')).toBe(ended + openJobs);
  const read = countRead(world, ['blocks', 'attempts', 'journal']);
  world.start();
  world.turn();
  expect(read()).toBeLessThanOrEqual(3 * openJobs);
  world.sealed.clear();
  world.tell({ kind: 'holds_changed' });
  world.run();
  expect(world.runs.length).toBe(ended + openJobs);
});
