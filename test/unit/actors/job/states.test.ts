// Updates of a plugin's state are merged into it as an object spread would do it, whether they are few or many.
import { expect, it } from 'vitest';
import { CompletionWriter, stateBytesMax } from '../../../../actors/job/completion-writer.ts';
import { stateUpdatesMax } from '../../../../runtime/host/wire/state.ts';
import { pack, unpack } from '../../../../runtime/packing.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';
import { fc } from '../../../support/seed.ts';

const key = fc.string({ maxLength: 3 }).filter(name => name !== '__proto__');
const state = fc.dictionary(key, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 40, noNullPrototype: true });

it('lays updates over the state, key by key', () => {
  fc.assert(
    fc.property(fc.array(state, { maxLength: 5 }), updates => {
      const completions = new CompletionWriter(openMemoryStore());
      let wanted = {};
      for (const update of updates) {
        expect(completions.updateState('p', pack(update), false)).toBe(null);
        wanted = unpack(pack({ ...wanted, ...update }));
        expect(unpack(completions.pluginState('p'))).toEqual(wanted);
      }
    }),
    { numRuns: 200 },
  );
});

it('takes a state with very many keys apart no more than one with few', () => {
  const completions = new CompletionWriter(openMemoryStore());
  const keys = Array.from({ length: 100_000 }, (_, n) => n.toString(36));
  const mapOf = (names: readonly string[], value: number) => pack(Object.fromEntries(names.map(name => [name, value])));
  const whole = mapOf(keys, 1);
  const update = mapOf(keys.slice(0, stateUpdatesMax), 2);
  expect(completions.updateState('p', whole, true)).toBe(null);
  const laidMs = leastMs(() => expect(completions.updateState('p', update, false)).toBe(null));
  const decodedMs = leastMs(() => pack({ ...unpack<object>(whole), ...unpack<object>(update) }));
  expect(laidMs).toBeLessThan(decodedMs / 2);
  expect(unpack(completions.pluginState('p'))).toEqual({ ...unpack<object>(whole), ...unpack<object>(update) });
});

it('refuses updates of more keys than a turn can compare, unless they replace the state', () => {
  const completions = new CompletionWriter(openMemoryStore());
  const keys = Array.from({ length: stateUpdatesMax + 1 }, (_, n) => [n.toString(36), 1]);
  const updates = pack(Object.fromEntries(keys));
  expect(completions.updateState('p', updates, false)).toBe('state_updates has 50001 keys; the limit is 50000');
  expect(unpack(completions.pluginState('p'))).toEqual({});
  expect(completions.updateState('p', updates, true)).toBe(null);
});

/** The CPU time of the fastest of three calls. */
function leastMs(act: () => void): number {
  const times = [0, 1, 2].map(() => {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

it('reads nothing of updates that are larger than any state', () => {
  const completions = new CompletionWriter(openMemoryStore());
  const nonsense = Buffer.alloc(stateBytesMax + 1, 0xc1);
  for (const replaces of [false, true]) {
    expect(completions.updateState('p', nonsense, replaces)).toMatch(`would have ${stateBytesMax + 1} bytes`);
  }
});
