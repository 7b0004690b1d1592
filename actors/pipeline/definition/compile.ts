// Compiles a definition into a flat list of numbered nodes, which refer to each other by number. A second list has the sequences: the top
// sequences (the main part and each phase), and the nested sequences with joins.
//
// A pass through one of these sequences is a scope. Each join gathers the tokens of the steps since the previous join or the start of the
// sequence. The tokens of a top sequence meet at its end, too. A nested sequence with joins is a scope up to its last join. The steps
// after that join, and the steps of nested sequences without joins, belong to the surrounding scope.
import type { Condition, Join, PipelineDefinition, Step } from '../../../config/pipeline/definition.ts';
import type { PhaseName, StepLimits } from '../../job/records/job.ts';
import { isOfElement, isPerElementTemplate } from '../expressions/template.ts';

export type WorkStep = Extract<Step, { readonly kind: 'uses' | 'call' }>;

export type Node =
  /** The node that tests the pipeline's own condition, before the first step. A run whose condition is false ends here. */
  | { readonly kind: 'start'; readonly condition: Condition; readonly next: number }
  | {
      readonly kind: 'work';
      readonly step: WorkStep;
      readonly next: number;
      readonly perElement: boolean;
      /** The limits that the step sets for its jobs. Undefined: it sets none, or it calls a pipeline. */
      readonly limits: StepLimits | undefined;
      /**
       * Whether the failure of a job ends only its own token until the next join or, if no join follows, until the end of the main part or
       * phase. True if `fail_fast: false` is set for the step, or for a fork before it whose tokens no join has gathered.
       */
      readonly failsLate: boolean;
      /** Undefined: the step belongs to the main part. */
      readonly phase: PhaseName | undefined;
    }
  /** One token becomes several, one for each branch. */
  | { readonly kind: 'split'; readonly step: Step; readonly branches: readonly number[]; readonly next: number }
  | { readonly kind: 'steps'; readonly step: Step; readonly first: number; readonly next: number }
  /** A token that arrives here enters a new scope. */
  | { readonly kind: 'scope'; readonly sequence: number; readonly first: number }
  /** A barrier: the tokens of a scope meet here. When all of them have arrived or ended, one token continues. */
  | { readonly kind: 'join'; readonly collect: Join['collect']; readonly stepId: string; readonly next: number }
  /** The tokens of the main part, or of a phase, end here. The results of the main part become the run's result. */
  | { readonly kind: 'end' };

export type WorkNode = Extract<Node, { readonly kind: 'work' }>;

/**
 * `joins`: the nodes of the sequence's joins, in order. `failsLate`: whether the token that enters the sequence has passed a fork with
 * `fail_fast: false`. A failure inside the sequence then ends only that token.
 */
export type Sequence = { readonly joins: readonly number[]; readonly failsLate: boolean };

/** A phase: its top sequence, and its first node. */
export type CompiledPhase = { readonly name: PhaseName; readonly sequence: number; readonly first: number };

export type CompiledPipeline = {
  readonly definition: PipelineDefinition;
  readonly nodes: readonly Node[];
  /** The top sequences and the nested sequences with joins. The first element is the sequence of the main part. */
  readonly sequences: readonly Sequence[];
  /** In the order in which they run. */
  readonly phases: readonly CompiledPhase[];
  /** The node that tests the pipeline's own condition; `first` if the pipeline has none. */
  readonly start: number;
  /** The first node of the main part, after the pipeline's own condition if it has one. */
  readonly first: number;
  /** Whether the main part has a `foreach` or `split` that no join follows. The result of a run is then a list, even if a single token arrives. */
  readonly endsForked: boolean;
  /** The keys (as JSON) of the maps that the dotted baggage targets of the steps create: `["a"]` and `["a","b"]` for the target `a.b.c`. */
  readonly baggageMaps: ReadonlySet<string>;
};

/** The number of the only node of kind `end`. */
export const endNode = 0;

export function compilePipeline(definition: PipelineDefinition): CompiledPipeline {
  const baggageMaps = new Set<string>();
  const compiler: Compiler = { nodes: [{ kind: 'end' }], sequences: [], baggageMaps, phase: undefined };
  const { first } = compileTop(compiler, definition.steps);
  const { onFailure, finally: last } = definition;
  const phases = [...phaseOf(compiler, 'on_failure', onFailure), ...phaseOf(compiler, 'finally', last)];
  const endsForked = isForkedBehind(definition.steps);
  const { nodes, sequences } = compiler;
  const { if: condition } = definition;
  const start = condition === null ? first : add(compiler, { kind: 'start', condition, next: first });
  return { definition, nodes, sequences, phases, start, first, endsForked, baggageMaps };
}

function phaseOf(compiler: Compiler, name: PhaseName, steps: readonly Step[] | undefined): CompiledPhase[] {
  if (steps === undefined) return [];
  compiler.phase = name;
  return [{ name, ...compileTop(compiler, steps) }];
}

/** Compiles the steps of the main part or of a phase. */
function compileTop(compiler: Compiler, steps: readonly Step[]): Omit<CompiledPhase, 'name'> {
  const joins: number[] = [];
  const sequence = compiler.sequences.push({ joins, failsLate: false }) - 1;
  return { sequence, first: compileSteps(compiler, steps, endNode, joins, false) };
}

/** Whether these steps have a `foreach` or `split` that no join follows. Conditions are ignored. */
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

type Compiler = {
  readonly nodes: Node[];
  readonly sequences: Sequence[];
  readonly baggageMaps: Set<string>;
  phase: PhaseName | undefined;
};

function add(compiler: Compiler, node: Node): number {
  return compiler.nodes.push(node) - 1;
}

/**
 * Compiles the steps from the last to the first, because each node refers to the next one. `joins` receives the nodes
 * of the joins, in the order of the steps. `late`: whether a fork with `fail_fast: false` comes before the steps.
 */
function compileSteps(
  compiler: Compiler,
  steps: readonly Step[],
  after: number,
  joins: number[],
  late: boolean,
): number {
  const lates = latesOf(steps, late);
  let next = after;
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i]!;
    next = compileStep(compiler, step, next, lates[i]!);
    if (step.join === null) continue;
    next = add(compiler, { kind: 'join', collect: step.join.collect, stepId: step.id, next });
    joins.unshift(next);
  }
  return next;
}

/**
 * For each step, and for the end of the steps: whether a fork with `fail_fast: false` comes before it, and no join in between gathers the
 * fork's tokens. `around`: whether such a fork comes before all the steps.
 */
function latesOf(steps: readonly Step[], around: boolean): boolean[] {
  let late = around;
  const lates = steps.map(step => {
    if (step.join !== null) late = around;
    const before = late;
    late = isLateBehind(step, late);
    return before;
  });
  return [...lates, late];
}

function isLateBehind(step: Step, late: boolean): boolean {
  switch (step.kind) {
    case 'uses':
    case 'call':
      return late || step.failFast === false;
    case 'split':
      return step.branches.some(branch => latesOf(branch.steps, late).at(-1));
    case 'steps':
      return latesOf(step.steps, late).at(-1)!;
  }
}

function compileNested(compiler: Compiler, steps: readonly Step[], after: number, late: boolean): number {
  const joins: number[] = [];
  const first = compileSteps(compiler, steps, after, joins, late);
  if (joins.length === 0) return first;
  const sequence = compiler.sequences.push({ joins, failsLate: late }) - 1;
  return add(compiler, { kind: 'scope', sequence, first });
}

function compileStep(compiler: Compiler, step: Step, next: number, late: boolean): number {
  switch (step.kind) {
    case 'uses':
    case 'call': {
      const failsLate = late || step.failFast === false;
      const limits = limitsOf(step);
      const { phase } = compiler;
      addBaggageMaps(compiler.baggageMaps, step);
      return add(compiler, { kind: 'work', step, next, perElement: isPerElement(step), limits, failsLate, phase });
    }
    case 'split': {
      const branches = step.branches.map(branch => compileNested(compiler, branch.steps, next, late));
      return add(compiler, { kind: 'split', step, branches, next });
    }
    case 'steps':
      return add(compiler, { kind: 'steps', step, first: compileNested(compiler, step.steps, next, late), next });
  }
}

function addBaggageMaps(maps: Set<string>, { baggage }: WorkStep): void {
  for (const [target] of baggage) {
    const keys = target.split('.');
    while (keys.pop() !== undefined && keys.length > 0) maps.add(JSON.stringify(keys));
  }
}

function limitsOf(step: WorkStep): StepLimits | undefined {
  if (step.kind === 'call' || (step.retry === undefined && step.timeoutMs === undefined)) return undefined;
  const { retry, timeoutMs } = step;
  return { ...(retry && { retry }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

/** Whether the step is a fan-out whose baggage or templates refer to the element. */
function isPerElement({ foreach, with: entries, baggage }: WorkStep): boolean {
  if (foreach === null) return false;
  return (
    baggage.some(([, path]) => isOfElement(path)) || (entries ?? []).some(([, entry]) => isPerElementTemplate(entry))
  );
}
