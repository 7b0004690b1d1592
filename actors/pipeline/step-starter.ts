// A token comes to a step with work: its baggage and templates are put in, and its job is made, or its fan-out begins.
import type { Path } from '../../config/pipeline/definition.ts';
import { unpinned } from '../../runtime/bytes.ts';
import { overlayMap } from '../../runtime/overlay.ts';
import { pack } from '../../runtime/packing.ts';
import { isParted } from '../../runtime/parted.ts';
import { contentsOf, listCount, mapCount, spanAt } from '../../runtime/splice.ts';
import { addBaggage, contextFault } from './baggage.ts';
import type { Children } from './children.ts';
import type { Node, WorkStep } from './compile.ts';
import type { Expansion } from './expansion.ts';
import { beginFanOut, type FanPlan } from './fanout.ts';
import { endTokens, markFork } from './join.ts';
import { withEntries } from './join-payload.ts';
import { formatPath } from './lookup.ts';
import type { Run, Scope } from './run.ts';
import type { RunTable } from './run-table.ts';
import { bindEntries, isMissing, isOfElement, packEntries } from './template.ts';
import { carrying, dataOf, largeOf, Packed, type StepPosition, type Token } from './token.ts';

export type WorkNode = Extract<Node, { readonly kind: 'work' }>;

export class StepStarter {
  readonly #table: RunTable;
  readonly #children: Children;
  readonly #expansion: Expansion;

  constructor(table: RunTable, children: Children, expansion: Expansion) {
    this.#table = table;
    this.#children = children;
    this.#expansion = expansion;
  }

  enter(run: Run, scope: Scope, number: number, { step, perElement }: WorkNode, token: Token): void {
    const context = contextAt(step, token);
    const fault = contextFault(step.id, context.bytes);
    if (fault !== null) {
      this.#table.fail(run, fault);
      return;
    }
    const next = context === token.context ? token : carrying(token, context);
    if (step.foreach === null) this.#single(run, scope, number, step, next);
    else this.#fanOut(run, scope, number, step, perElement, next);
  }

  #single(run: Run, scope: Scope, node: number, step: WorkStep, token: Token): void {
    const position = positionAt(scope, node, token);
    const payload = token.payload.stored;
    if (step.with === null) {
      this.#children.make(run, step, position, [payload], null);
      return;
    }
    const added = packEntries(step.with, dataOf(token, null), largeOf(token));
    if (isMissing(added)) this.#children.make(run, step, position, [payload], added.missing);
    else {
      const laid = mapCount(added) === 0 ? payload : laidOver(token.payload, added);
      this.#children.make(run, step, position, [laid], null);
    }
  }

  #fanOut(run: Run, scope: Scope, node: number, step: WorkStep, perElement: boolean, token: Token): void {
    const from = step.foreach!;
    const root = from.root === 'payload' ? token.payload.bytes : token.context.bytes;
    const span = spanAt(root, from.keys);
    const list = span && root.subarray(span.from, span.to);
    const count = list ? listCount(list) : -1;
    if (list === null || count < 0) {
      const what = list === null ? 'is missing' : 'is not a list';
      this.#table.fail(run, `step "${step.id}": foreach: ${formatPath(from)} ${what}`);
      return;
    }
    markFork(scope, token.path, { cause: token.cause, context: token.context.bytes });
    if (count === 0) {
      endTokens(this.#table, run, scope, 1);
      return;
    }
    const plan = { ...positionAt(scope, node, token), list: unpinned(list), ...planWith(step, perElement, token) };
    this.#expansion.add(run, beginFanOut(run.fansMade++, count, plan));
  }
}

function laidOver(payload: Packed, added: Uint8Array): Uint8Array {
  const parted = isParted(payload.stored) ? withEntries(payload.stored, added) : null;
  return parted ?? overlayMap(payload.bytes, added);
}

/** The context with the step's baggage, but for what only the elements of a fan-out know. */
function contextAt({ foreach, baggage }: WorkStep, token: Token): Packed {
  const known = foreach === null ? baggage : baggage.filter(([, path]) => !isOfElement(path));
  if (known.length === 0) return token.context;
  return new Packed(pack(addBaggage(token.context.map, known, dataOf(token, null))));
}

function positionAt(scope: Scope, node: number, token: Token): StepPosition {
  const { path, cause, event, context } = token;
  return { scope: scope.id, node, path, first: null, cause, depth: token.depth + 1, event, context: context.bytes };
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

/** What `with` gives to the children of a fan-out, as far as it is known before the elements. */
function planWith(step: WorkStep, perElement: boolean, token: Token): PlannedWith {
  const entries = step.with ?? [];
  const data = dataOf(token, null);
  if (perElement) {
    const baggage = step.baggage.filter(([, path]) => isOfElement(path));
    const isLate = (path: Path) => isOfElement(path) || (path.root === 'context' && baggage.length > 0);
    const bound = bindEntries(entries, data, isLate);
    if (isMissing(bound)) return { ...nothingAdded, missing: bound.missing, each: { with: [], baggage } };
    return { ...nothingAdded, each: { with: bound, baggage } };
  }
  const added = packEntries(entries, data, largeOf(token));
  if (isMissing(added)) return { ...nothingAdded, missing: added.missing };
  return {
    added: added.subarray(contentsOf(added)),
    addedCount: entries.length,
    own: elementKeys.filter(key => !entries.some(([name]) => name === key)),
    each: null,
    missing: null,
  };
}
