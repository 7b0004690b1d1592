// Two runs step by step.
import { sharesByStep } from '../run/shares.ts';
import { failuresIn, type RunStep, type RunTimeline, stepKey, stepTitle } from '../run/timeline.ts';

export type ComparedRunStep = {
  readonly key: string;
  readonly title: string;
  /** Null: the run has no job of the step. */
  readonly before: RunStep | null;
  readonly after: RunStep | null;
  /** The time on the critical path, in µs. */
  readonly pathBefore: number;
  readonly pathAfter: number;
};

/** The steps of both runs, in the order of the second one; those that only the first one has come last. */
export function comparedSteps(before: RunTimeline, after: RunTimeline): ComparedRunStep[] {
  const steps = new Map<string, ComparedRunStep>();
  const paths = [before, after].map(run => new Map(sharesByStep(run).map(({ key, us }) => [key, us])));
  for (const run of [after, before])
    for (const step of run.steps) {
      const key = stepKey(step);
      const known = steps.get(key);
      steps.set(key, {
        key,
        title: stepTitle(step, after.command),
        before: run === before ? step : (known?.before ?? null),
        after: run === after ? step : (known?.after ?? null),
        pathBefore: paths[0]!.get(key) ?? 0,
        pathAfter: paths[1]!.get(key) ?? 0,
      });
    }
  return [...steps.values()];
}

/** The step whose time on the critical path has changed most; null if it has changed for no step. */
export function mostChanged(steps: readonly ComparedRunStep[]): ComparedRunStep | null {
  const change = ({ pathBefore, pathAfter }: ComparedRunStep) => Math.abs(pathAfter - pathBefore);
  const most = steps.reduce<ComparedRunStep | null>(
    (max, step) => (max && change(max) >= change(step) ? max : step),
    null,
  );
  return most && change(most) > 0 ? most : null;
}

/** The number of samples of the step's times: how many of its jobs have ended. */
export function samplesOf(step: RunStep | null): number {
  if (step === null) return 0;
  const { succeeded = 0, cancelled = 0 } = step.by_status;
  return succeeded + failuresIn(step) + cancelled;
}
