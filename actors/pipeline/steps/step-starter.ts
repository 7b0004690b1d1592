// Starts a step for a token: evaluates baggage and templates, then creates the job or begins the fan-out.
import { type Path, pathText } from '../../../config/pipeline/definition.ts';
import { unpinned } from '../../../runtime/bytes.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import { isParted } from '../../../runtime/parted.ts';
import { listCount } from '../../../runtime/splice.ts';
import type { WorkNode, WorkStep } from '../definition/compile.ts';
import { type Bound, bindEntries, isOfElement, Missing, packEntries, textLengthOf } from '../expressions/template.ts';
import { beginFanOut, type FanPlan } from '../fanout/fanout.ts';
import { endTokens, failToken, markFork } from '../join/join.ts';
import type { TokenReuse } from '../reuse/token-reuse.ts';
import type { Run, Scope } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { addBaggage, baggageFault, contextBytesMax, contextFault } from '../tokens/baggage.ts';
import { addFan } from '../tokens/parked-token.ts';
import { carrying, dataOf, Packed, type StepPosition, type Token } from '../tokens/token.ts';
import type { Children } from './children.ts';
import {
  ownBytesOf,
  type PartNumber,
  payloadWith,
  problemWith,
  type StoreSections,
  storedSections,
  under,
  withBytesMax,
} from './payload-with.ts';

export class StepStarter {
  readonly #table: RunTable;
  readonly #children: Children;
  readonly #takeOver: TokenReuse;

  constructor(table: RunTable, children: Children, takeOver: TokenReuse) {
    this.#takeOver = takeOver;
    this.#table = table;
    this.#children = children;
  }

  /**
   * Starts the step for the token. May throw UnfinishedEvaluation, but only before it creates a job or fan-out. `held`: the number of the
   * token, if it has one.
   */
  enter(run: Run, scope: Scope, number: number, node: WorkNode, token: Token, held: PartNumber): void {
    const { step } = node;
    const context = contextAt(step, token);
    const fault = context === null ? baggageFault(step.id) : contextFault(step.id, context.bytes);
    if (context === null || fault !== null) {
      failToken(this.#table, run, scope, node, fault!);
      return;
    }
    const next = context === token.context ? token : carrying(token, context);
    const keep: StoreSections = sections => storedSections(this.#table, run, token.payload, held, sections);
    if (step.foreach === null) {
      if (!next.isReused || !this.#takeOver.single(run, scope, number, next))
        this.#single(run, scope, number, step, next, keep);
    } else this.#fanOut(run, scope, number, node, next, held, keep);
  }

  #single(run: Run, scope: Scope, node: number, step: WorkStep, token: Token, keep: StoreSections): void {
    const position = positionAt(scope, node, token);
    const payload = step.with === null ? token.payload.stored : payloadWith(step.with, token, keep);
    if (payload instanceof Uint8Array) this.#children.make(run, step, position, [payload], null);
    else this.#children.make(run, step, position, [token.payload.stored], problemWith(payload));
  }

  #fanOut(
    run: Run,
    scope: Scope,
    number: number,
    node: WorkNode,
    token: Token,
    held: PartNumber,
    keep: StoreSections,
  ): void {
    const { step, perElement } = node;
    const from = step.foreach!;
    const root = from.root === 'payload' ? token.payload : token.context;
    const list = root.bytesAt(from.keys);
    const count = list ? listCount(list) : -1;
    if (list === null || count < 0) {
      const what = list === null ? 'is missing' : 'is not a list';
      failToken(this.#table, run, scope, node, `step "${step.id}": foreach: ${pathText(from)} ${what}`);
      return;
    }
    const planned = planWith(step, perElement, token, this.#table.evaluationLimits.stepBytes);
    if (planned === null) {
      failToken(this.#table, run, scope, node, `step "${step.id}": with: ${problemWith(null)}`);
      return;
    }
    const isLong = isParted(root.stored) || list.length > this.#table.partedBytesMin;
    const kept = isLong && count > 0 ? keep(root.sectionsAt(from.keys)!) : null;
    markFork(scope, token.path, { cause: token.cause, context: token.context.bytes });
    if (count === 0) {
      endTokens(this.#table, run, scope, 1, token.isReused);
      return;
    }
    const plan = {
      ...positionAt(scope, number, token),
      list: unpinned(list),
      ...(kept && { parted: kept }),
      ...planned,
    };
    addFan(this.#table, run, beginFanOut(held.id ?? run.fansMade++, count, plan));
  }
}

/**
 * The context with the step's baggage, except baggage that depends on the elements of a fan-out. Null: the values from a large payload
 * alone exceed the limit.
 */
function contextAt({ foreach, baggage }: WorkStep, token: Token): Packed | null {
  const known = foreach === null ? baggage : baggage.filter(([, path]) => !isOfElement(path));
  if (known.length === 0) return token.context;
  let bytes = 0;
  for (const [, { root, keys }] of known) {
    if (root === 'payload' && token.payload.isLarge) bytes += token.payload.bytesAt(keys)?.length ?? 0;
  }
  if (bytes > contextBytesMax) return null;
  return new Packed(pack(addBaggage(token.context.map, known, dataOf(token, null))));
}

function positionAt(scope: Scope, node: number, token: Token): StepPosition {
  const { path, cause, event, context, isReused } = token;
  const depth = token.depth + 1;
  const position = { scope: scope.id, node, path, first: null, cause, depth, event, context: context.bytes };
  return isReused ? { ...position, isReused } : position;
}

type PlannedWith = Pick<FanPlan, 'added' | 'addedCount' | 'own' | 'each' | 'missing'>;

const elementKeys = ['item', 'index'] as const;
const nothingAdded: PlannedWith = {
  added: new Uint8Array(0),
  addedCount: 0,
  own: elementKeys,
  each: null,
  missing: null,
};

/**
 * Prepares `with` for the children of a fan-out. If its entries or the step's baggage depend on the element (`perElement`), binds the values
 * that are the same for all elements; otherwise packs the entries. `bytesMax`: larger values stay packed. Null: the part that is the same
 * for all elements already exceeds `withBytesMax`.
 */
function planWith(step: WorkStep, perElement: boolean, token: Token, bytesMax: number): PlannedWith | null {
  const entries = step.with ?? [];
  const data = dataOf(token, null);
  if (perElement) {
    const baggage = step.baggage.filter(([, path]) => isOfElement(path));
    const isPerElementPath = (path: Path) => isOfElement(path) || (path.root === 'context' && baggage.length > 0);
    const bound = bindEntries(entries, data, isPerElementPath, path => boundAt(token, path, bytesMax));
    if (bound instanceof Missing) return { ...nothingAdded, missing: bound.missing, each: { with: [], baggage } };
    const textLength = bound.reduce((sum, [, template]) => sum + textLengthOf(template), 0);
    return textLength > withBytesMax ? null : { ...nothingAdded, each: { with: bound, baggage } };
  }
  const added = packEntries(entries, {
    value: path => {
      const bytes = under(token, path)?.bytesAt(path.keys);
      return bytes ? [bytes] : null;
    },
    text: path => under(token, path)?.textPiecesAt(path.keys) ?? null,
  });
  if (added instanceof Missing) return { ...nothingAdded, missing: added.missing };
  if (ownBytesOf(added) > withBytesMax) return null;
  return {
    added: Buffer.concat(added as Uint8Array[]),
    addedCount: entries.length,
    own: elementKeys.filter(key => !entries.some(([name]) => name === key)),
    each: null,
    missing: null,
  };
}

/** The value at the path of a reference. A large value is not decoded. Undefined: the value is missing. */
function boundAt(token: Token, path: Path, bytesMax: number): Bound | undefined {
  const bytes = under(token, path)?.bytesAt(path.keys);
  if (!bytes) return undefined;
  return bytes.length > bytesMax
    ? { kind: 'packed', bytes: unpinned(bytes) }
    : { kind: 'literal', value: unpack(bytes) };
}
