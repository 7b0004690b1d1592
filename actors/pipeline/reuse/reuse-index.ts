// Indexes the jobs of the original run by their addresses (records/reuse.ts). The walk through the run's tree takes
// several turns.
import { keyAfter } from '../../../runtime/bytes.ts';
import { blockKeyBytes, formatId, type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { latestAttempt } from '../../job/records/attempts.ts';
import { type Block, decodeBlock, groupOf } from '../../job/records/block.ts';
import { groupIn } from '../../job/records/cancel.ts';
import { type JobGroup, readTally, tallied } from '../../job/records/job.ts';
import { keyText } from '../../job/records/open.ts';
import { rangesOf } from '../../job/records/tree.ts';
import { calledAddress, forkAddress, reusedOf, splitPath, topAddress, writeIndexed } from '../records/reuse.ts';
import type { StoredReuse } from '../records/run.ts';
import type { RunTable } from '../run-table.ts';
import { rootOf, takenOverBy } from '../views/reuse-roots.ts';

/** The number of entries that one scan of a tree reads. */
const entriesAtOnce = 16;
/** The number of groups of jobs after which the indexing can pause. */
export const groupsPerSlice = 256;
const runsKnownMax = 10_000;

/** Jobs that are neighbours both in their block and in their fork. */
type Row = { fork: Uint8Array; ordinal: number; key: Uint8Array; index: number; count: number };

/** Writes the index for a rerun. Returns why it cannot be complete; null: the index is complete. */
export function* indexed(table: RunTable, { of, root }: StoredReuse): Sliced<string | null> {
  let found = 0;
  let row: Row | null = null;
  for (const next of jobsInside(table.reader, of)) {
    if (next === null) {
      yield;
      continue;
    }
    found += next.count;
    if (row && follows(row, next)) row.count += next.count;
    else {
      if (row) writeIndexed(table.batch, root, row.fork, row.ordinal, row);
      row = next;
    }
  }
  if (row) writeIndexed(table.batch, root, row.fork, row.ordinal, row);
  const body = latestAttempt(table.reader, of)?.attempt.stored;
  if (!body) return `the run ${formatId(of)} is no longer stored: rerun the run from the start`;
  const counts = readTally(body);
  const made = counts ? tallied(counts) : 0;
  if (found >= made) return null;
  return `${made - found} of the ${made} jobs of the run ${formatId(of)} are no longer stored: rerun the run from the start`;
}

function follows(row: Row, { fork, ordinal, key, index }: Row): boolean {
  const isNext = ordinal === row.ordinal + row.count && index === row.index + row.count;
  return isNext && Buffer.compare(fork, row.fork) === 0 && Buffer.compare(key, row.key) === 0;
}

/** The jobs inside a run, including reused jobs and the jobs of called runs. The walk can pause at each null. */
function* jobsInside(reader: Reader, of: JobId): Iterable<Row | null> {
  const addressOf = addressesIn(reader, of);
  const root = rootOf(reader, of);
  let groups = 0;
  for (const table of ['tree', 'reused'] as const) {
    let { from } = reusedOf(root);
    const { to } = reusedOf(root);
    for (;;) {
      const entries = [...reader.scan(table, { from, to, limit: entriesAtOnce })];
      for (const entry of entries) {
        const key = Buffer.from(entry.key.subarray(jobIdBytes, jobIdBytes + blockKeyBytes));
        // The block of reused jobs may have been pruned.
        const bytes = reader.get('blocks', key);
        if (!bytes) continue;
        const block = decodeBlock(bytes);
        for (const piece of piecesOf(block, rangesOf(entry.value))) {
          if (++groups % groupsPerSlice === 0) yield null;
          const row = rowOf(addressOf, key, piece);
          if (row) yield row;
        }
      }
      yield null;
      if (entries.length < entriesAtOnce) break;
      from = keyAfter(entries.at(-1)!.key);
    }
  }
}

type Piece = { readonly group: JobGroup; readonly index: number; readonly offset: number; readonly count: number };

function* piecesOf(block: Block, ranges: readonly number[]): Iterable<Piece> {
  for (let pair = 0; pair < ranges.length; pair += 2) {
    for (let index = ranges[pair]!; index < ranges[pair + 1]!; ) {
      const { group, offset, left } = groupOf(block, index);
      const count = Math.min(left, ranges[pair + 1]! - index);
      yield { group, index, offset, count };
      index += count;
    }
  }
}

function rowOf(addressOf: AddressOf, key: Uint8Array, { group, index, offset, count }: Piece): Row | null {
  const position = group.run;
  const run = position && addressOf(position.run);
  if (!run) return null;
  const { path, first } = position;
  const [before, ordinal] = first === null ? splitPath(path) : [path, first + offset];
  return { fork: forkAddress(run, { ...position, path: before }), ordinal, key, index, count };
}

/** Returns the address (records/reuse.ts) of a run. Null: it is neither the original run nor inside it. */
type AddressOf = (run: JobId) => Uint8Array | null;

function addressesIn(reader: Reader, of: JobId): AddressOf {
  /** The original run, and the runs from which it reused jobs. */
  const tops: ReadonlySet<string> = new Set(takenOverBy(reader, of).map(keyText));
  const known = new Map<string, Uint8Array | null>();

  function addressOf(run: JobId): Uint8Array | null {
    const name = keyText(run);
    let address = known.get(name);
    if (address === undefined) {
      address = find(run, name);
      if (known.size >= runsKnownMax) known.clear();
      known.set(name, address);
    }
    return address;
  }

  function find(run: JobId, name: string): Uint8Array | null {
    if (tops.has(name)) return topAddress;
    const position = groupIn(reader, run)?.run;
    const caller = position ? addressOf(position.run) : null;
    return caller && calledAddress(caller, position!);
  }

  return addressOf;
}
