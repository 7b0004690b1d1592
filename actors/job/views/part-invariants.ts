// Invariants of the table `arrivals`, and of the values in parts that refer to its values. The table has results that have arrived at joins
// or at the end of a run, and parts of other large values.
import { blockOf, formatId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import { isParted, partKeys } from '../../../runtime/parted.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { latestAttempt } from '../records/attempts.ts';
import type { Block } from '../records/block.ts';
import { pipelinePlugin } from '../records/job.ts';
import type { Invariant } from './invariant.ts';

export function partInvariants(reader: Reader, blockIn: (value: Uint8Array) => Block): readonly Invariant[] {
  return [
    { name: 'arrivals_have_runs', table: 'arrivals', wrong: arrivalHasRun },
    { name: 'values_have_their_parts', table: 'blocks', wrong: valuesHaveParts },
  ];

  /** A value in `arrivals` must belong to an open run, or to an ended one whose job is still stored. */
  function arrivalHasRun(key: Uint8Array): string | null {
    const run = Buffer.from(key.subarray(0, jobIdBytes));
    if (reader.get('runs', run) || reader.get('blocks', blockOf(run))) return null;
    return `an arrival belongs to the run ${formatId(run)}, which does not exist`;
  }

  /** Checks the payloads of all jobs of the block and, if the jobs are runs, their results. */
  function valuesHaveParts(key: Uint8Array, value: Uint8Array): string | null {
    const block = blockIn(value);
    for (let index = 0; index < block.count; index++) {
      const id = jobId(Buffer.from(key), index);
      const result = block.plugin === pipelinePlugin ? latestAttempt(reader, id)?.attempt.parted : null;
      const gone = goneOf(block.payload(index)) ?? (result ? goneOf(result) : null);
      if (gone !== null) return `${formatId(id)}: its payload or result refers to ${gone}, which is missing`;
    }
    return null;
  }

  function goneOf(stored: Uint8Array): string | null {
    if (!isParted(stored)) return null;
    for (const part of partKeys(stored)) {
      const run = Buffer.from(part.subarray(0, jobIdBytes));
      if (!reader.peek('arrivals', part) && reader.get('blocks', blockOf(run)))
        return `an arrival of the run ${formatId(run)}`;
    }
    return null;
  }
}
