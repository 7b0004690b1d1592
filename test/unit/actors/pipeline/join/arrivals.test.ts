// Results that come to a join in any order leave it in the order of their paths.

import { expect, it } from 'vitest';
import { ArrivalLog, comparePaths, spliceArrivals } from '../../../../../actors/pipeline/records/arrivals.ts';
import { pack, unpack } from '../../../../../runtime/packing.ts';
import { fc } from '../../../../support/seed.ts';
import { stage } from '../cast.ts';
import { resultOf } from '../stage.ts';

/** No path of a token is a prefix of another's. Small ordinals make neighbouring paths likely. */
const ordinals = fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 2 ** 31 }));
const paths = fc
  .uniqueArray(fc.array(ordinals, { maxLength: 3 }), { selector: String, maxLength: 40 })
  .map(all => all.filter(path => !all.some(other => other !== path && isBeginning(other, path))));

function isBeginning(path: readonly number[], of: readonly number[]): boolean {
  return path.length < of.length && path.every((each, i) => each === of[i]);
}

it('splices results of any paths, whichever values they lie in', () => {
  fc.assert(
    fc.property(paths, fc.boolean(), fc.nat(40), (given, inOrder, cut) => {
      const all = inOrder ? [...given].sort(comparePaths) : given;
      const logs = [all.slice(0, cut), all.slice(cut)].map(part => {
        const log = new ArrivalLog();
        for (const path of part) log.add(path, pack({ path }));
        return log.take();
      });
      const expected = [...all].sort(comparePaths).map(path => ({ path }));
      expect(unpack(Buffer.concat(spliceArrivals(logs, all.length)))).toEqual(expected);
    }),
  );
});

it('splices the elements of one fan-out in their order', () => {
  const log = new ArrivalLog();
  const count = 70_000;
  for (let i = 0; i < count; i++) log.add([(i * 7919) % count], pack((i * 7919) % count));
  expect(unpack(Buffer.concat(spliceArrivals([log.take()], count)))).toEqual(
    Array.from({ length: count }, (_, i) => i),
  );
});

it('keeps arrivals in the store while a run is open, and through restarts', () => {
  const s = stage([
    { uses: 'double', foreach: 'payload.list' },
    { uses: 'sink', join: 'all' },
  ]);
  const list = Array.from({ length: 6000 }, (_, i) => i);
  const id = s.start('p', { list });
  for (let turn = 0; s.waiting.length > 0; turn++) {
    s.waiting.reverse();
    s.work(900);
    if (turn % 2 === 1) s.restart();
  }
  expect(resultOf(s.jobs.get(id)!)).toEqual({ results: list.map(each => each * 2), succeeded: 6000, failed: 0 });
  expect(s.leftovers()).toBe(0);
});
