// Makes the payloads of steps that have `with`. A large payload is written in parts, and making it may take several turns.
import type { Path } from '../../../config/pipeline/definition.ts';
import { overlayMap } from '../../../runtime/overlay.ts';
import { pack } from '../../../runtime/packing.ts';
import { bytesOf, encodeParted, isParted, joinedSections, type Section } from '../../../runtime/parted.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { mapHead } from '../../../runtime/splice.ts';
import { type Entries, hasPacked, Missing, packEntries, renderEntries } from '../expressions/template.ts';
import { withEntries } from '../join/join-payload.ts';
import { madeKey } from '../records/run.ts';
import type { Run } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { dataOf, type Packed, type Token } from '../tokens/token.ts';

/** The maximum size of a payload that `payloadWith` makes. Stored values that the payload refers to do not count. */
export const withBytesMax = 64 * 2 ** 20;
/** The maximum size of one part of a payload in parts (`writtenInParts`). */
const partBytesMax = 2 ** 20;

/** The number of a token or element. It is assigned when the token is parked, or when parts are written; null: not assigned yet. */
export type PartNumber = { id: number | null };
/** The values to which the paths of `with` refer. */
export type WithSource = Pick<Token, 'payload' | 'context'>;

/** Why a payload cannot be made. `wrong` null: the payload would be too large. */
export function problemWith(wrong: { readonly missing: string | null } | null): string {
  return wrong === null ? `more than ${withBytesMax / 2 ** 20} MiB` : `${wrong.missing} is missing`;
}

/** The sections as one value. A large value is written in parts, one part per step; throws UnfinishedEvaluation if it takes another turn. */
export function storedSections(
  table: RunTable,
  run: Run,
  { evaluations }: Packed,
  held: PartNumber,
  sections: readonly Section[],
): Uint8Array {
  if (ownBytesOf(sections) > table.partedBytesMin) {
    held.id ??= run.fansMade++;
    const { id } = held;
    return evaluations.find(`storedSections ${id}`, () => writtenInParts(table, run, id, sections));
  }
  return joined(sections);
}

/**
 * Writes the literal bytes of the sections to the store in parts, one part per step, and returns the value in parts. If the work is
 * repeated for the same token, it writes the same parts under the same keys.
 */
export function* writtenInParts(
  table: RunTable,
  run: Run,
  id: number,
  sections: readonly Section[],
): Sliced<Uint8Array> {
  const named: Section[] = [];
  for (const section of joinedSections(sections, Math.min(partBytesMax, Math.max(64, table.partedBytesMin)))) {
    if (!(section instanceof Uint8Array)) {
      named.push(section);
      continue;
    }
    const number = named.length;
    table.arrivals.writePart(madeKey(run.id, id, number), section);
    table.bytesInTurn += section.length;
    named.push({ base: madeKey(run.id, id, 0).subarray(0, -4), at: [number, 0, section.length] });
    yield;
  }
  return encodeParted(named);
}

/** The sections as one value, which is in parts if any of them refers to stored bytes. */
export function joined(sections: readonly Section[]): Uint8Array {
  const isOwn = sections.every(section => section instanceof Uint8Array);
  return isOwn ? Buffer.concat(sections as Uint8Array[]) : encodeParted(sections);
}

/** The total size of the sections that contain bytes themselves, instead of referring to stored bytes. */
export function ownBytesOf(sections: readonly Section[]): number {
  return bytesOf(sections.filter(section => section instanceof Uint8Array));
}

export function under({ payload, context }: WithSource, { root }: Path): Packed | null {
  return root === 'config' ? null : root === 'payload' ? payload : context;
}

/** Combines sections into one value (`storedSections`). May throw UnfinishedEvaluation. */
export type StoreSections = (sections: readonly Section[]) => Uint8Array;

/** The payload with the entries of `with` added; null: the payload would exceed `withBytesMax`. */
export function payloadWith(entries: Entries, token: WithSource, keep: StoreSections): Uint8Array | Missing | null {
  const { payload, context } = token;
  if (!payload.isLarge && !context.isLarge && !entries.some(([, template]) => hasPacked(template))) {
    const added = renderEntries(entries, dataOf(token, null));
    return added instanceof Missing ? added : overlayMap(payload.bytes, pack(added));
  }
  const added = packEntries(entries, {
    value: path => under(token, path)?.sectionsAt(path.keys) ?? null,
    text: path => under(token, path)?.textPiecesAt(path.keys) ?? null,
  });
  if (added instanceof Missing) return added;
  const keys = entries.map(([key]) => pack(key));
  const laid =
    (isParted(payload.stored) ? withEntries(payload.stored, keys, added) : null) ?? laidOver(payload, keys, added);
  return ownBytesOf(laid) > withBytesMax ? null : keep(laid);
}

function laidOver(payload: Packed, keys: readonly Uint8Array[], added: readonly Section[]): readonly Section[] {
  const { sections, count } = payload.without(keys);
  return [mapHead(count + keys.length), ...sections, ...added];
}
