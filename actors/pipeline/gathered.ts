// What came to a join, or to the end of a run, as one packed value: put together, or where it is long named in parts.
import { packedNull } from '../../runtime/packing.ts';
import { encodeParted, isParted, type Section, sectionsOf } from '../../runtime/parted.ts';
import { contentsOf, entryAt, listHead, mapCount, mapHead, skipValue } from '../../runtime/splice.ts';
import type { Desk } from './desk.ts';
import { comparePaths, readStretches, spliceArrivals } from './records/arrivals.ts';
import { arrivalKey } from './records/run.ts';
import type { Run, Scope } from './run.ts';

/** Results that take more are named where they lie: to copy and write them takes 2 ms of the ledger for each MiB. */
export const partedBytesMin = 4 * 2 ** 20;
/** Of so many stretches, as where very many jobs end in no order, the names take as much as the results. */
const stretchesMax = 2 ** 16;

const nothing: Uint8Array = new Uint8Array(0);

/** The results between these bytes: as a list, or the only one. They are no longer part of the scope. */
export function gathered(
  desk: Desk,
  run: Run,
  scope: Scope,
  isList: boolean,
  before = nothing,
  behind = nothing,
): Uint8Array {
  const { arrived } = scope;
  const parted = scope.bytes > desk.partedBytesMin ? inParts(desk, run, scope, isList, before, behind) : null;
  if (parted) return parted;
  const [head, ...results] = spliceArrivals(desk.arrivalsOf(run, scope), arrived);
  return Buffer.concat([before, ...(isList ? [head!] : []), ...results.map(desk.read), behind]);
}

type Place = { readonly path: readonly number[]; readonly number: number; readonly from: number; readonly to: number };
type Named = Place & { /** It is in parts itself. */ readonly parted: Uint8Array | null };

function inParts(
  desk: Desk,
  run: Run,
  scope: Scope,
  isList: boolean,
  before: Uint8Array,
  behind: Uint8Array,
): Uint8Array | null {
  const places: Named[] = [];
  desk.spill(run, scope);
  for (let number = 0; number < scope.stored; number++) {
    const log = desk.arrivalAt(run, scope, number);
    if (!log) throw new Error('an arrival has no record');
    readStretches(log, (path, from, to) => {
      const results = log.subarray(from, to);
      places.push({ path, number, from, to, parted: isParted(results) ? Uint8Array.from(results) : null });
    });
    if (places.length > stretchesMax) return null;
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
  desk.nameArrivals(run, scope);
  return encodeParted(sections);
}

/** `{results, succeeded, failed}` of a join. */
export function joinedPayload(desk: Desk, run: Run, scope: Scope, empty: Uint8Array): Uint8Array {
  const from = skipValue(empty, contentsOf(empty));
  return gathered(desk, run, scope, true, empty.subarray(0, from), empty.subarray(from + packedNull.length));
}

const resultsKey = Buffer.from('\xa7results', 'latin1');
const joinedHead = Buffer.concat([mapHead(3), resultsKey]);

/** Of the payload of a join in parts: the packed entries beside its results. Null: it is another value. */
function besideResults(parted: Uint8Array): Uint8Array | null {
  const sections = sectionsOf(parted);
  const [first, last] = [sections[0], sections.at(-1)];
  if (!(first instanceof Uint8Array && last instanceof Uint8Array) || sections.length < 2) return null;
  return joinedHead.compare(first, 0, joinedHead.length) === 0 ? Buffer.concat([mapHead(2), last]) : null;
}

/** What lies under a key beside the results of a join in parts; null: it is not there, or this is another value. */
export function besideAt(parted: Uint8Array, key: string): Uint8Array | null {
  const beside = besideResults(parted);
  const span = beside && entryAt(beside, 0, Buffer.from(key));
  return span && beside!.subarray(span.from, span.to);
}

/** The payload of a join in parts with the entries of a map added, none of which it has; null: that cannot be told from here. */
export function withEntries(parted: Uint8Array, added: Uint8Array): Uint8Array | null {
  const beside = besideResults(parted);
  if (beside === null) return null;
  let at = contentsOf(added);
  for (let left = mapCount(added); left > 0; left--) {
    const value = skipValue(added, at);
    const key = added.subarray(at, value);
    if (resultsKey.equals(key) || hasKey(beside, key)) return null;
    at = skipValue(added, value);
  }
  const [first, ...more] = sectionsOf(parted) as [Uint8Array, ...Section[]];
  const head = Buffer.concat([mapHead(3 + mapCount(added)), first.subarray(contentsOf(first))]);
  return encodeParted([head, ...more, added.subarray(contentsOf(added))]);
}

function hasKey(map: Uint8Array, packedKey: Uint8Array): boolean {
  let at = contentsOf(map);
  for (let left = mapCount(map); left > 0; left--) {
    const value = skipValue(map, at);
    if (Buffer.compare(map.subarray(at, value), packedKey) === 0) return true;
    at = skipValue(map, value);
  }
  return false;
}
