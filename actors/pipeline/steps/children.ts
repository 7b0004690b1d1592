// Creates the children of a step: jobs of its plugin, or runs of the pipeline that it calls.

import { formatId, type JobId } from '../../../runtime/ids.ts';
import { pipelinePlugin } from '../../job/records/job.ts';
import { keyText } from '../../job/records/open.ts';
import { taggedWith } from '../../job/records/options.ts';
import type { WorkStep } from '../definition/compile.ts';
import { causeText, type FindAncestor, hopError, hopsMax } from '../events/hops.ts';
import { beginRun, type RunStart, refuseRun } from '../lifecycle/run-start.ts';
import type { Reuse } from '../reuse/reuse.ts';
import { pathsAround, type Run, type TreeCounts } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import type { StepPosition } from '../tokens/token.ts';

type CallStep = Extract<WorkStep, { readonly kind: 'call' }>;

export class Children {
  readonly #table: RunTable;
  readonly #reuse: Reuse;
  readonly #ancestor: FindAncestor;

  /** `committed` finds jobs of earlier turns. Runs that began in this turn are in the table. */
  constructor(table: RunTable, reuse: Reuse, committed: FindAncestor) {
    this.#table = table;
    this.#reuse = reuse;
    this.#ancestor = id => {
      const known = committed(id);
      if (known) return known;
      const run = table.runs.find(keyText(id));
      return run && { name: `${pipelinePlugin}.${run.version.name}`, parent: run.parent };
    };
  }

  /**
   * Creates one child per payload, as many as the tree has room for. If the tree has no room for all of them, the current part of the run
   * fails (`#cut`). `problem`: why `with` failed; the children then end at once. Null: `with` succeeded.
   */
  make(
    run: Run,
    step: WorkStep,
    position: StepPosition,
    payloads: readonly Uint8Array[],
    problem: string | null,
  ): void {
    const room = this.#table.descendants.room(run.tree);
    if (payloads.length <= room) this.#make(run, step, position, payloads, problem);
    else {
      const fitting = Math.max(0, room);
      if (fitting > 0) this.#make(run, step, position, payloads.slice(0, fitting), problem);
      const { first } = position;
      const behind = first === null ? position : { ...position, first: first + fitting };
      this.#cut(run, step, behind, room < 0 ? null : payloads[fitting]!);
    }
  }

  #make(
    run: Run,
    step: WorkStep,
    position: StepPosition,
    payloads: readonly Uint8Array[],
    problem: string | null,
  ): void {
    const refusal = problem === null ? null : `step "${step.id}": with: ${problem}`;
    if (step.kind === 'call') this.#call(run, step, position, payloads, refusal);
    else if (position.depth > hopsMax) {
      const error = hopError(`${step.instance}.${step.command}`, this.#causeOf(run, position), this.#ancestor);
      this.#table.create(run, step, position, payloads, { status: 'dead', error });
    } else
      this.#table.create(run, step, position, payloads, refusal === null ? null : { status: 'failed', error: refusal });
  }

  /**
   * Fails the current part of a run whose tree has no room for its next child. `payload`: the payload of that child, which is created as
   * dead; null: the tree already exceeds the limit, and the child is not created.
   */
  #cut(run: Run, step: WorkStep, position: StepPosition, payload: Uint8Array | null): void {
    const table = this.#table;
    const name = step.kind === 'call' ? `${pipelinePlugin}.${step.pipeline}` : `${step.instance}.${step.command}`;
    const error = this.breadthError(name, this.#causeOf(run, position), run.tree);
    if (payload !== null && step.kind === 'call') {
      run.jobs++;
      refuseRun(table, step.pipeline, calledFrom(run, step, position, payload, 0), error, 'dead');
    } else if (payload !== null && step.kind === 'uses') {
      table.create(run, step, position, [payload], { status: 'dead', error });
    }
    table.fail(run, `step "${step.id}": ${error}`);
  }

  /** The error of a descendant beyond the limit. */
  breadthError(name: string, cause: JobId, { root }: TreeCounts): string {
    const most = this.#table.config.service.jobsPerRootMax;
    const limit = `${formatId(root)} has ${most} descendants, the most that service.max_jobs_per_root allows`;
    return `stopped: ${limit}; ${causeText(name, cause, this.#ancestor)}`;
  }

  /**
   * The id of the job or run that an error names as the cause. It is the cause of the position, or the run itself if
   * there is no cause or the cause cannot be found. A run that began and ended in this turn cannot be found.
   */
  #causeOf(run: Run, { cause }: StepPosition): JobId {
    return cause !== null && this.#ancestor(cause) ? cause : run.id;
  }

  #call(
    run: Run,
    step: CallStep,
    position: StepPosition,
    payloads: readonly Uint8Array[],
    refusal: string | null,
  ): void {
    const table = this.#table;
    const current = table.versions.current(step.pipeline);
    run.jobs += payloads.length;
    table.touch(run);
    payloads.forEach((payload, k) => {
      const start = calledFrom(run, step, position, payload, k);
      const again = position.isReused ? this.#reuse.calledReuse(run, start.called!.outer) : null;
      const version = again ? again.version : current;
      const gone = again
        ? `the definition of the pipeline "${step.pipeline}" is no longer stored`
        : `the pipeline "${step.pipeline}" is no longer configured`;
      const error = refusal ?? (version ? null : gone);
      if (error !== null) refuseRun(table, step.pipeline, start, error);
      else beginRun(table, version!, again ? { ...start, reuse: again.reuse, rerun: again.rerun } : start);
    });
  }
}

function calledFrom(run: Run, step: CallStep, position: StepPosition, payload: Uint8Array, k: number): RunStart {
  const { scope, node, first, cause, depth, event, context } = position;
  const path = first === null ? position.path : [...position.path, first + k];
  return {
    submittedBy: run.submittedBy,
    parent: cause ?? run.id,
    root: run.root ?? run.id,
    // The depth of the position is that of a job: the token's depth plus one. A called run is not a job of the chain, and has the token's depth.
    depth: depth - 1,
    event,
    context,
    payload,
    hooked: run.hooked,
    rerun: null,
    options: taggedWith(run.tags),
    called: {
      outer: { run: run.id, node, scope, path, context },
      ...(scope !== 0 && { within: pathsAround(run, scope) }),
      pipeline: run.version.name,
      stepId: step.id,
      phase: run.phase?.name,
      timeoutMs: step.timeoutMs,
    },
  };
}
