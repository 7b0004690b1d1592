// The results of a join or of a run as one packed value: copied together, or as a value in parts if they are large.
import { packedNull } from '../../../runtime/packing.ts';
import { encodeParted, isParted, type Section, sectionsOf } from '../../../runtime/parted.ts';
import { contentsOf, listHead, skipValue } from '../../../runtime/splice.ts';
import { comparePaths, readResultGroups, spliceArrivals } from '../records/arrivals.ts';
import { arrivalKey } from '../records/run.ts';
import type { Run, Scope } from '../run.ts';
import type { RunTable } from '../run-table.ts';

/**
 * The maximum number of groups (records/arrivals.ts) of a value in parts. Results in more groups are copied, because the references
 * to them would themselves be large.
 */
const groupsMax = 2 ** 16;

const nothing: Uint8Array = new Uint8Array(0);

/**
 * The results as a packed list (`isList`) or one after another, between the bytes `before` and `behind`. If this value is in parts, the
 * scope no longer owns the results.
 */
export function gathered(
  table: RunTable,
  run: Run,
  scope: Scope,
  isList: boolean,
  before = nothing,
  behind = nothing,
): Uint8Array {
  const { arrived } = scope;
  const parted = scope.bytes > table.partedBytesMin ? inParts(table, run, scope, isList, before, behind) : null;
  if (parted) return parted;
  const [head, ...results] = spliceArrivals(table.arrivals.of(run, scope), arrived);
  return Buffer.concat([before, ...(isList ? [head!] : []), ...results.map(table.arrivals.read), behind]);
}

type Place = { readonly path: readonly number[]; readonly number: number; readonly from: number; readonly to: number };
type Named = Place & { /** The result, if it is a value in parts itself. */ readonly parted: Uint8Array | null };

function inParts(
  table: RunTable,
  run: Run,
  scope: Scope,
  isList: boolean,
  before: Uint8Array,
  behind: Uint8Array,
): Uint8Array | null {
  const places: Named[] = [];
  table.arrivals.spill(run, scope);
  for (let number = 0; number < scope.stored; number++) {
    const log = table.arrivals.at(run, scope, number);
    if (!log) throw new Error('a result that reached the join has no record');
    readResultGroups(log, (path, from, to) => {
      const results = log.subarray(from, to);
      places.push({ path, number, from, to, parted: isParted(results) ? Uint8Array.from(results) : null });
    });
    if (places.length > groupsMax) return null;
  }
  places.sort((a, b) => comparePaths(a.path, b.path));
  const base = arrivalKey(run.id, scope.id, scope.position, 0).subarray(0, -4);
  const sections: Section[] = [Buffer.concat([before, isList ? listHead(scope.arrived) : nothing])];
  let at: number[] = [];
  const close = (): void => {
    if (at.length > 0) sections.push({ base, at });
    at = [];
  };
  for (const { number, from, to, parted } of places) {
    if (parted === null) at.push(number, from, to);
    else {
      close();
      sections.push(...sectionsOf(parted));
    }
  }
  close();
  if (behind.length > 0) sections.push(behind);
  table.arrivals.name(run, scope);
  return encodeParted(sections);
}

/** The payload of a join: `{results, succeeded, failed}`. `empty`: the packed payload with null as `results`. */
export function joinedPayload(table: RunTable, run: Run, scope: Scope, empty: Uint8Array): Uint8Array {
  const from = skipValue(empty, contentsOf(empty));
  return gathered(table, run, scope, true, empty.subarray(0, from), empty.subarray(from + packedNull.length));
}
