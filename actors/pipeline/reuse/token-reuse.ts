// Lets a token pass a job that succeeded in the original run: the token continues with the job's result, and no new job is
// created.
import { skipValue } from '../../../runtime/splice.ts';
import type { FanOut, FanPlan } from '../fanout/fanout.ts';
import { contextOf, elementOf } from '../fanout/large-element.ts';
import type { Run, Scope } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { Packed, type StepPosition, type Token } from '../tokens/token.ts';
import type { OriginalJob, Reuse } from './reuse.ts';

/** A reused job, at its place in the new run. */
export type ReusedJob = Pick<StepPosition, 'node' | 'path' | 'context' | 'depth'> & {
  readonly id: OriginalJob['id'];
  readonly body: Uint8Array;
};

export class TokenReuse {
  readonly reuse: Reuse;
  readonly #table: RunTable;
  readonly #goOn: (run: Run, scope: Scope, job: ReusedJob) => void;

  constructor(table: RunTable, reuse: Reuse, goOn: (run: Run, scope: Scope, job: ReusedJob) => void) {
    this.#table = table;
    this.reuse = reuse;
    this.#goOn = goOn;
  }

  /** If a job of the original run can be reused for this step and token, lets the token pass the step. False: there is no such job. */
  single(run: Run, scope: Scope, node: number, { path, context, depth }: Token): boolean {
    const job = this.reuse.findSucceeded(run, { scope: scope.id, node, path });
    if (job) this.#take(run, scope, job, { node, path, context: context.bytes, depth: depth + 1 });
    return job !== null;
  }

  /** Reuses the jobs of the next elements, as many as fit into the turn; moves the cursor. */
  elements(run: Run, scope: Scope, fan: FanOut, plan: FanPlan, jobs: readonly OriginalJob[]): void {
    const { node, depth } = plan;
    for (const [place, job] of jobs.entries()) {
      if (place > 0 && (this.#table.turn.isSpent || this.#table.isFull)) return;
      const path = [...plan.path, fan.index];
      scope.live++;
      this.#take(run, scope, job, { node, path, context: nextContext(fan, plan), depth });
      if (run.failure !== null) return;
    }
  }

  #take(run: Run, scope: Scope, { id, attempt }: OriginalJob, at: Omit<ReusedJob, 'id' | 'body'>): void {
    const body = attempt.stored;
    this.#table.bytesInTurn += body.length;
    this.reuse.note(run, id);
    this.#goOn(run, scope, { id, ...at, body });
  }
}

/** The context of the next element; moves the cursor. */
function nextContext(fan: FanOut, plan: FanPlan): Uint8Array {
  const { at, index } = fan;
  fan.at = skipValue(plan.list, at);
  fan.index++;
  if (!plan.each || plan.each.baggage.length === 0) return plan.context;
  const element = new Packed(elementOf(plan, [plan.list.subarray(at, fan.at)], index));
  // `contextOf` does not return null: the job of the original run had the same baggage, which was within the limit.
  return contextOf(plan, element)!.stored;
}
