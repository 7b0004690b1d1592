// The jobs of a delivery, as the audit trail names them.
import { expect, test } from 'vitest';
import { rangesHave, rangesOf } from '../../../actors/vault/records/job-ranges.ts';
import { formatId, jobId } from '../../../runtime/ids.ts';
import { fc } from '../../support/seed.ts';

const blocks = [1, 2].map(byte => Buffer.alloc(12, byte));
const job = fc.record({ block: fc.constantFrom(...blocks), index: fc.nat(30) });

test('ranges have the jobs that they were made of, and no others', () => {
  fc.assert(
    fc.property(fc.uniqueArray(job, { selector: ({ block, index }) => `${block[0]} ${index}` }), jobs => {
      const ids = jobs.map(({ block, index }) => jobId(block, index));
      const ranges = rangesOf(Buffer.concat(ids));
      const has = new Set(ids.map(formatId));
      for (const block of blocks) {
        for (let index = 0; index < 32; index++) {
          const id = formatId(jobId(block, index));
          expect(rangesHave(ranges, id)).toBe(has.has(id));
        }
      }
    }),
  );
});

test('neighbours of one block are one range', () => {
  const ids = [3, 4, 5, 7].map(index => jobId(blocks[0]!, index));
  const [third, , fifth, seventh] = ids.map(formatId);
  expect(rangesOf(Buffer.concat(ids))).toEqual([`${third}..${fifth}`, seventh]);
  expect(rangesOf(new Uint8Array(0))).toEqual([]);
});
