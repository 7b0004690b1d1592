// What a step brings into being: jobs of its plugin, or runs of the pipeline that it calls.

import { formatId, type JobId } from '../../runtime/ids.ts';
import { pipelinePlugin } from '../job/records/job.ts';
import { type Beginning, beginRun, refuseRun } from './begin.ts';
import type { WorkStep } from './compile.ts';
import type { Desk, Stand } from './desk.ts';
import { chainText, type FindAncestor, hopError, hopsMax } from './hops.ts';
import { idText, type Run, type Tree } from './run.ts';

type CallStep = Extract<WorkStep, { readonly kind: 'call' }>;

export class Children {
  readonly #desk: Desk;
  readonly #ancestor: FindAncestor;

  /** `committed` knows the jobs of earlier turns; runs that began in this one are found on the desk. */
  constructor(desk: Desk, committed: FindAncestor) {
    this.#desk = desk;
    this.#ancestor = id => {
      const known = committed(id);
      if (known) return known;
      const run = desk.runs.find(idText(id));
      return run && { name: `${pipelinePlugin}.${run.version.name}`, parent: run.parent };
    };
  }

  /** One child for each payload, side by side. `missing`: the path that `with` did not find; they end at once. */
  make(run: Run, step: WorkStep, stand: Stand, payloads: readonly Uint8Array[], missing: string | null): void {
    const room = this.#desk.descendants.room(run.tree);
    if (payloads.length <= room) this.#make(run, step, stand, payloads, missing);
    else {
      const fitting = Math.max(0, room);
      if (fitting > 0) this.#make(run, step, stand, payloads.slice(0, fitting), missing);
      const { first } = stand;
      const behind = first === null ? stand : { ...stand, first: first + fitting };
      this.#cut(run, step, behind, room < 0 ? null : payloads[fitting]!);
    }
  }

  #make(run: Run, step: WorkStep, stand: Stand, payloads: readonly Uint8Array[], missing: string | null): void {
    const refusal = missing === null ? null : `step "${step.id}": with: ${missing} is missing`;
    if (step.kind === 'call') this.#call(run, step, stand, payloads, refusal);
    else if (stand.depth > hopsMax) {
      const error = hopError(`${step.instance}.${step.command}`, this.#causeOf(run, stand), this.#ancestor);
      this.#desk.create(run, step, stand, payloads, { status: 'dead', error });
    } else
      this.#desk.create(run, step, stand, payloads, refusal === null ? null : { status: 'failed', error: refusal });
  }

  /** The root has as many descendants as it may. One more is dead and says so; each run of the tree that would make more fails. */
  #cut(run: Run, step: WorkStep, stand: Stand, payload: Uint8Array | null): void {
    const desk = this.#desk;
    const name = step.kind === 'call' ? `${pipelinePlugin}.${step.pipeline}` : `${step.instance}.${step.command}`;
    const error = this.breadthError(name, this.#causeOf(run, stand), run.tree);
    if (payload !== null && step.kind === 'call') {
      run.jobs++;
      refuseRun(desk, step.pipeline, calledFrom(run, step, stand, payload, 0), error, 'dead');
    } else if (payload !== null && step.kind === 'uses') {
      desk.create(run, step, stand, [payload], { status: 'dead', error });
    }
    desk.fail(run, `step "${step.id}": ${error}`);
  }

  /** The error of the descendant that is one too many. */
  breadthError(name: string, cause: JobId, { root }: Tree): string {
    const most = this.#desk.config.service.jobsPerRootMax;
    const limit = `${formatId(root)} has ${most} descendants, the most that service.max_jobs_per_root allows`;
    return `stopped: ${limit}; ${chainText(name, cause, this.#ancestor)}`;
  }

  /** A cause that came and ended in this very turn is no more on the desk: then the run stands for it. */
  #causeOf(run: Run, { cause }: Stand): JobId {
    return cause !== null && this.#ancestor(cause) ? cause : run.id;
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
