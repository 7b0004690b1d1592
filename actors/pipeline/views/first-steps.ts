// How many steps a call of a pipeline begins with. A synchronous call requires exactly one (docs/contract.md#synchronous-call).
import type { PipelineDefinition, Step } from '../../../config/pipeline/definition.ts';

/**
 * The number of steps with which a call of the pipeline begins if their conditions hold. It is above one only if the pipeline begins with a
 * `split`. A step with `foreach` counts once, whatever the number of elements.
 */
export function firstStepCount({ steps }: PipelineDefinition): number {
  return firstStepsOf(steps[0]);
}

function firstStepsOf(step: Step | undefined): number {
  if (step === undefined) return 0;
  switch (step.kind) {
    case 'uses':
    case 'call':
      return 1;
    case 'steps':
      return firstStepsOf(step.steps[0]);
    case 'split':
      return step.branches.reduce((sum, branch) => sum + firstStepsOf(branch.steps[0]), 0);
  }
}
