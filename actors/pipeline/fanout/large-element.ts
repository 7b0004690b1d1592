// An element that is too large for one step of its fan-out. Its job is made in steps, which may take several turns. The
// end of the element is found and `with` is rendered step by step, and a large payload is written in parts.
import { type JsonObject, pack, unpack } from '../../../runtime/packing.ts';
import { asSections, type Section, sectionsWithin } from '../../../runtime/parted.ts';
import { endWithin, mapHead, skipInSteps } from '../../../runtime/splice.ts';
import { type EvaluationLimits, Evaluations, UnfinishedEvaluation } from '../expressions/evaluations.ts';
import { hasPacked } from '../expressions/template.ts';
import type { Run } from '../run.ts';
import { evaluationName, type RunTable } from '../run-table.ts';
import { joined, payloadWith, problemWith, storedSections } from '../steps/payload-with.ts';
import { addBaggage, contextBytesMax } from '../tokens/baggage.ts';
import { dataOf, Packed } from '../tokens/token.ts';
import { type FanOut, type FanPlan, indexKey, itemKey, type UnfinishedElement } from './fanout.ts';

/**
 * The size above which an element is large. If neither `with` nor baggage refers to the elements, they are only copied,
 * and the size is `partedBytesMin`. If `with` contains a large value, the size is 0. Otherwise it is `stepBytes`.
 */
export function elementBytesMax({ each }: FanPlan, { evaluationLimits, partedBytesMin }: RunTable): number {
  if (each === null) return partedBytesMin;
  return each.with.some(([, template]) => hasPacked(template)) ? 0 : evaluationLimits.stepBytes;
}

export function isLargeNext({ list }: FanPlan, { at }: FanOut, bytesMax: number): boolean {
  return endWithin(list, at, at + bytesMax) < 0;
}

/** The payload and context of a new job. `problem`: why `with` failed; null: it succeeded. */
type NewJob = { readonly payload: Uint8Array; readonly context: Uint8Array; readonly problem: string | null };
/** `job` null: there would be too much baggage. `end`: the offset after the element. */
type Made = { readonly job: NewJob | null; readonly end: number };

/**
 * Makes the payload and the context of the next element's job. Throws UnfinishedEvaluation if the work needs another turn, or if too many
 * other elements are in memory. The work done so far stays in memory for the next call.
 */
export function makeElement(table: RunTable, run: Run, fan: FanOut, plan: FanPlan): Made {
  const { unfinishedElements, evaluationLimits, evaluationsMax } = table;
  const name = evaluationName(run, fan.id);
  let element = unfinishedElements.get(name);
  if (!element) {
    if (unfinishedElements.size >= evaluationsMax) throw new UnfinishedEvaluation();
    element = { evaluations: new Evaluations(evaluationLimits), held: { id: null }, own: null, context: null };
    unfinishedElements.set(name, element);
  }
  element.own ??= ownOf(fan, plan, element, evaluationLimits);
  const job = jobOf(table, run, plan, element, element.own.payload);
  unfinishedElements.delete(name);
  return { job, end: element.own.end };
}

function jobOf(table: RunTable, run: Run, plan: FanPlan, element: UnfinishedElement, own: Packed): NewJob | null {
  element.context ??= contextOf(plan, own);
  const { context, held } = element;
  if (context === null || context.stored.length > contextBytesMax) return null;
  const keep = (sections: readonly Section[]) => storedSections(table, run, own, held, sections);
  const missing = plan.missing === null ? null : problemWith(plan);
  const entries = plan.each?.with ?? [];
  if (missing !== null || entries.length === 0)
    return { payload: keep(asSections(own.stored)), context: context.stored, problem: missing };
  const payload = payloadWith(entries, { payload: own, context }, keep);
  if (payload instanceof Uint8Array) return { payload, context: context.stored, problem: null };
  return { payload: keep(asSections(own.stored)), context: context.stored, problem: problemWith(payload) };
}

function ownOf(fan: FanOut, plan: FanPlan, { evaluations }: UnfinishedElement, limits: EvaluationLimits) {
  const { list, parted } = plan;
  const end = evaluations.find('end', () => skipInSteps(list, fan.at, 1, limits.stepBytes));
  // A small element is copied even if the list is in parts. Decoding all sections of the list for each element would take quadratic time.
  const isInParts = parted !== undefined && end - fan.at > limits.wholeBytesMax;
  const item = isInParts ? sectionsWithin(asSections(parted), fan.at, end) : [list.subarray(fan.at, end)];
  return { payload: new Packed(elementOf(plan, item, fan.index), limits), end };
}

/** The context with the baggage of the element `{item, index}`. Null: the values of the baggage alone exceed the limit. */
export function contextOf({ context, each }: FanPlan, own: Packed): Packed | null {
  const before = new Packed(context);
  if (each === null || each.baggage.length === 0) return before;
  let bytes = 0;
  for (const [, { keys }] of each.baggage) bytes += own.bytesAt(keys)?.length ?? 0;
  if (bytes > contextBytesMax) return null;
  const data = dataOf({ payload: own, context: before }, null);
  return new Packed(pack(addBaggage(unpack<JsonObject>(context), each.baggage, data)));
}

/**
 * The payload of an element without the entries that are rendered for each element. It has `item` and `index`, unless `added` contains
 * them, and the entries in `added`, which all elements share.
 */
export function elementOf(plan: FanPlan, item: readonly Section[], index: number): Uint8Array {
  const { own, added, addedCount } = plan;
  const sections: Section[] = [mapHead(own.length + addedCount)];
  if (own.includes('item')) sections.push(itemKey, ...item);
  if (own.includes('index')) sections.push(indexKey, pack(index));
  return joined([...sections, added]);
}
