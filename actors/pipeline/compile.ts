// Compiles a definition into a flat list of numbered nodes. Nodes refer to each other by number. A second list has the sequences
// with joins. All functions are pure.
//
// A sequence with joins is a scope: a join gathers everything between the join before it (or the start of the sequence) and
// itself. The top sequence is always a scope, because its end gathers the run's result. A nested sequence with joins is a scope
// up to its last join. The steps behind this join, and all steps of nested sequences without joins, belong to the surrounding
// scope.
import type { Condition, Join, PipelineDefinition, Step } from '../../config/pipeline/definition.ts';
import { isLateTemplate, isOfElement } from './template.ts';

export type WorkStep = Extract<Step, { readonly kind: 'uses' | 'call' }>;

export type Node =
  /** The node that tests the pipeline's own condition, before the first step. A run whose condition is false ends here. */
  | { readonly kind: 'start'; readonly condition: Condition; readonly next: number }
  | { readonly kind: 'work'; readonly step: WorkStep; readonly next: number; readonly perElement: boolean }
  /** One token becomes several, one for each branch. */
  | { readonly kind: 'split'; readonly step: Step; readonly branches: readonly number[]; readonly next: number }
  | { readonly kind: 'steps'; readonly step: Step; readonly first: number; readonly next: number }
  /** A token that arrives here enters a new scope. */
  | { readonly kind: 'scope'; readonly sequence: number; readonly first: number }
  /** A barrier: the tokens of a scope end here, and one token continues when the scope has none left. */
  | { readonly kind: 'join'; readonly collect: Join['collect']; readonly stepId: string; readonly next: number }
  /** The tokens of the run end here, and their results become the run's result. */
  | { readonly kind: 'end' };

/** The nodes of the joins of a sequence, in order. */
export type Sequence = { readonly joins: readonly number[] };

export type CompiledPipeline = {
  readonly definition: PipelineDefinition;
  readonly nodes: readonly Node[];
  /** All sequences with joins, and the top sequence, which is the first element. */
  readonly sequences: readonly Sequence[];
  /** The node that tests the pipeline's own condition; `first` if there is none. */
  readonly start: number;
  /** The first node behind the pipeline's own condition. */
  readonly first: number;
  /** Whether the definition has a fork without a join behind it. The result of a run is then a list, even if a single token arrives. */
  readonly endsForked: boolean;
};

/** The number of the node of kind `end`. */
export const endNode = 0;

export function compilePipeline(definition: PipelineDefinition): CompiledPipeline {
  const compiler: Compiler = { nodes: [{ kind: 'end' }], sequences: [{ joins: [] }] };
  const joins: number[] = [];
  const first = compileSteps(compiler, definition.steps, endNode, joins);
  compiler.sequences[0] = { joins };
  const endsForked = isForkedBehind(definition.steps);
  const { if: condition } = definition;
  const start = condition === null ? first : add(compiler, { kind: 'start', condition, next: first });
  return { definition, nodes: compiler.nodes, sequences: compiler.sequences, start, first, endsForked };
}

/**
 * Whether a token may leave these steps as several tokens: the steps have a `foreach` or `split` that no join follows. Conditions
 * are ignored.
 */
function isForkedBehind(steps: readonly Step[]): boolean {
  return steps.reduce((forked, step) => (forked && step.join === null) || forks(step), false);
}

function forks(step: Step): boolean {
  switch (step.kind) {
    case 'uses':
    case 'call':
      return step.foreach !== null;
    case 'split':
      return true;
    case 'steps':
      return isForkedBehind(step.steps);
  }
}

type Compiler = { readonly nodes: Node[]; readonly sequences: Sequence[] };

function add(compiler: Compiler, node: Node): number {
  return compiler.nodes.push(node) - 1;
}

/** Compiles from the last step to the first, because each node refers to the next one. `joins` is in the order of the steps. */
function compileSteps(compiler: Compiler, steps: readonly Step[], after: number, joins: number[]): number {
  let next = after;
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i]!;
    next = compileStep(compiler, step, next);
    if (step.join === null) continue;
    next = add(compiler, { kind: 'join', collect: step.join.collect, stepId: step.id, next });
    joins.unshift(next);
  }
  return next;
}

function compileNested(compiler: Compiler, steps: readonly Step[], after: number): number {
  const joins: number[] = [];
  const first = compileSteps(compiler, steps, after, joins);
  if (joins.length === 0) return first;
  const sequence = compiler.sequences.push({ joins }) - 1;
  return add(compiler, { kind: 'scope', sequence, first });
}

function compileStep(compiler: Compiler, step: Step, next: number): number {
  switch (step.kind) {
    case 'uses':
    case 'call':
      return add(compiler, { kind: 'work', step, next, perElement: isPerElement(step) });
    case 'split': {
      const branches = step.branches.map(branch => compileNested(compiler, branch.steps, next));
      return add(compiler, { kind: 'split', step, branches, next });
    }
    case 'steps':
      return add(compiler, { kind: 'steps', step, first: compileNested(compiler, step.steps, next), next });
  }
}

/** Whether the baggage or templates of a fan-out refer to the element. */
function isPerElement({ foreach, with: entries, baggage }: WorkStep): boolean {
  if (foreach === null) return false;
  return (
    baggage.some(([, path]) => isOfElement(path)) ||
    (entries ?? []).some(([, entry]) => isLateTemplate(entry, isOfElement))
  );
}
