// Outcomes that arrive together are handled in chunks: in order, none is lost, and an outcome that takes much work is alone in its chunk.
import { expect, test } from 'vitest';
import { type Body, emptyBody, encodeBody, encodeDeflated } from '../../../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../../../runtime/host/wire/plugin-host.ts';
import { pack } from '../../../../runtime/packing.ts';
import { chunkBytesMax, chunkOutcomes, chunkTasksMax } from '../../../../service/ledger/outcome-chunks.ts';

const small = encodeBody({ result: pack('x') });
const large = encodeBody({ result: Buffer.alloc(chunkBytesMax) });
const changing = encodeBody({ state_updates: pack({ a: 1 }) });
const text = pack('x'.repeat(200_000));
const deflated = encodeDeflated({ result: text }, text.length);
const of = (body: Body, count: number): Body[] => Array.from({ length: count }, () => body);

test.each<[string, readonly Body[], readonly number[]]>([
  ['nothing', [], []],
  ['a few small ones', [...of(emptyBody, 3), small], [4]],
  ['many small ones', of(small, chunkTasksMax + 1), [chunkTasksMax, 1]],
  ['large ones', [small, large, large, small], [1, 1, 1, 1]],
  ['changes of the state', [small, changing, changing, small, small], [1, 1, 1, 2]],
  ['deflated ones', [deflated, deflated, emptyBody, emptyBody], [1, 1, 2]],
])('%s', (_, bodies, sizes) => {
  const outcomes = bodies.map((body, task) => ({ task, body }) as Outcome);
  const pieces = chunkOutcomes(outcomes);
  expect(pieces.map(piece => piece.length)).toEqual(sizes);
  expect(pieces.flat()).toEqual(outcomes);
});
