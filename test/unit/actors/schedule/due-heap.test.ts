// The heap of due times gives what is due in order, also after times have changed.
import { expect, test } from 'vitest';
import { type Due, DueHeap } from '../../../../actors/schedule/due-heap.ts';
import { fc } from '../../../support/seed.ts';

test('it behaves as a list that is sorted again each time', () => {
  const step = fc.oneof(
    fc.tuple(fc.constant('set' as const), fc.nat(9), fc.oneof(fc.nat(30), fc.constant(Number.POSITIVE_INFINITY))),
    fc.tuple(fc.constant('pop' as const), fc.nat(30), fc.constant(0)),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), steps => {
      const heap = new DueHeap<Due & { readonly name: number }>();
      const all = Array.from({ length: 10 }, (_, name) => ({ name, nextMs: Number.POSITIVE_INFINITY }));
      for (const [kind, number, atMs] of steps) {
        if (kind === 'set') heap.set(all[number]!, atMs);
        else {
          const firstMs = Math.min(...all.map(({ nextMs }) => nextMs));
          const popped = heap.pop(number);
          if (firstMs > number) expect(popped).toBeUndefined();
          else {
            expect(popped?.nextMs).toBe(Number.POSITIVE_INFINITY);
            expect(all).toContain(popped);
          }
        }
        expect(heap.nextMs).toBe(Math.min(...all.map(({ nextMs }) => nextMs)));
      }
    }),
  );
});
