// What a step brings into being: jobs of its plugin, or runs of the pipeline that it calls.
import type { JobId } from '../../runtime/ids.ts';
import { type Beginning, beginRun, refuseRun } from './begin.ts';
import type { WorkStep } from './compile.ts';
import type { Desk, Stand } from './desk.ts';
import { type Ancestor, hopError, hopsMax } from './hops.ts';
import type { Run } from './run.ts';

type CallStep = Extract<WorkStep, { readonly kind: 'call' }>;

/** Finds what a job was and what caused it. */
export type FindAncestor = (id: JobId) => Ancestor | undefined;

export class Children {
  readonly #desk: Desk;
  readonly #ancestor: FindAncestor;

  constructor(desk: Desk, ancestor: FindAncestor) {
    this.#desk = desk;
    this.#ancestor = ancestor;
  }

  /** One child for each payload, side by side. `missing`: the path that `with` did not find; they end at once. */
  make(run: Run, step: WorkStep, stand: Stand, payloads: readonly Uint8Array[], missing: string | null): void {
    const refusal = missing === null ? null : `step "${step.id}": with: ${missing} is missing`;
    if (step.kind === 'call') this.#call(run, step, stand, payloads, refusal);
    else if (stand.depth > hopsMax) {
      const error = hopError(`${step.instance}.${step.command}`, stand.cause ?? run.id, this.#ancestor);
      this.#desk.create(run, step, stand, payloads, { status: 'dead', error });
    } else
      this.#desk.create(run, step, stand, payloads, refusal === null ? null : { status: 'failed', error: refusal });
  }

  #call(run: Run, step: CallStep, stand: Stand, payloads: readonly Uint8Array[], refusal: string | null): void {
    const desk = this.#desk;
    const version = desk.versions.current(step.pipeline);
    const error = refusal ?? (version ? null : `the pipeline "${step.pipeline}" is no longer configured`);
    run.jobs += payloads.length;
    desk.touch(run);
    payloads.forEach((payload, k) => {
      const beginning = calledFrom(run, step, stand, payload, k);
      if (error !== null) refuseRun(desk, step.pipeline, beginning, error);
      else beginRun(desk, version!, beginning);
    });
  }
}

function calledFrom(run: Run, step: CallStep, stand: Stand, payload: Uint8Array, k: number): Beginning {
  const { scope, node, first, cause, depth, event, context } = stand;
  const path = first === null ? stand.path : [...stand.path, first + k];
  return {
    submittedBy: run.submittedBy,
    parent: cause ?? run.id,
    root: run.root ?? run.id,
    // The run itself is no hop; its jobs are.
    depth: depth - 1,
    event,
    context,
    payload,
    hooked: run.hooked,
    called: { outer: { run: run.id, node, scope, path, context }, pipeline: run.version.name, stepId: step.id },
  };
}
