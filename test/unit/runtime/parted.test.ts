// Values in parts: the value is found, in pieces or whole, as long as all parts are stored.
import { expect, it } from 'vitest';
import { pack, packedNull } from '../../../runtime/packing.ts';
import {
  checkParts,
  chunksOf,
  encodeParted,
  isParted,
  lengthOf,
  PartGone,
  partKeys,
  partsIn,
  type Section,
  sectionsOf,
  shownOf,
  wholeOf,
} from '../../../runtime/parted.ts';
import { openMemoryStore } from '../../support/memory-store.ts';

const store = openMemoryStore();
const parts = partsIn(store);
const base = Buffer.alloc(24, 7);
const values = [Buffer.alloc(300_000, 'a'), Buffer.alloc(10, 'b'), Buffer.alloc(400_000, 'c')];
const keyOf = (number: number) => Buffer.concat([base, Buffer.of(0, 0, 0, number)]);
const batch = store.batch();
for (const [number, value] of values.entries()) batch.put('arrivals', keyOf(number), value);
store.commit(batch);

const sections: Section[] = [
  Buffer.from('head'),
  { base, at: [2, 0, 400_000, 2, 0, 5, 1, 3, 4] },
  Buffer.from('middle'),
  { base, at: [0, 100, 300_000] },
];
const whole = Buffer.concat([
  Buffer.from('head'),
  values[2]!,
  Buffer.from('cccccb'),
  Buffer.from('middle'),
  values[0]!.subarray(100),
]);

it('stands for its sections, one after the other', () => {
  const parted = encodeParted(sections);
  expect([isParted(parted), lengthOf(parted), parted.length < 200]).toEqual([true, whole.length, true]);
  expect(sectionsOf(parted)).toEqual(sections);
  expect(whole.equals(wholeOf(parts, parted))).toBe(true);
  const chunks = [...chunksOf(parts, parted)];
  expect(chunks.map(({ length }) => length)).toEqual([2 ** 18, 2 ** 18, whole.length - 2 ** 19]);
  expect(whole.equals(Buffer.concat(chunks))).toBe(true);
  expect(Array.from(partKeys(parted), key => key.at(-1))).toEqual([2, 1, 0]);
  expect(() => checkParts(parts, parted)).not.toThrow();
});

it('is no packed value, and a packed value is not in parts', () => {
  for (const value of [null, 1, 'text', { a: 1 }, [1]]) {
    const packed = pack(value);
    expect([isParted(packed), lengthOf(packed), wholeOf(parts, packed)]).toEqual([false, packed.length, packed]);
  }
});

it('of which a part is gone is told apart: who must have it fails, who only shows it shows null', () => {
  const parted = encodeParted([{ base, at: [9, 0, 5] }]);
  for (const read of [checkParts, wholeOf]) expect(() => read(parts, parted)).toThrow(PartGone);
  expect(() => [...chunksOf(parts, parted)]).toThrow('a part of the value is no longer stored');
  expect(shownOf(store, parted)).toEqual(packedNull);
});
