// What a start reads of a ledger in which much has ended.
import { expect, it } from 'vitest';
import { countRead } from '../../../support/count-read.ts';
import { calm, config, dice, plugin, Simulation } from './simulator.ts';

const openJobs = 5;

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
  const read = countRead(world.store, 'blocks', 'attempts', 'journal');
  world.start();
  world.turn();
  expect(read()).toBeLessThanOrEqual(3 * openJobs);
  world.sealed.clear();
  world.tell({ kind: 'holds_changed' });
  world.run();
  expect(world.runs.length).toBe(ended + openJobs);
});
