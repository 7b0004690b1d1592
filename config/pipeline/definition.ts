// The types of a parsed pipeline: nested steps with parsed conditions, templates and paths, as plain data.
import type { Json, JsonObject } from '../../runtime/packing.ts';

/** The names with which a path can begin. Only the event type of a webhook can use `headers`. */
export const pathRoots = ['payload', 'context', 'config', 'headers'] as const;
/** A parsed path such as `payload.items.0.name`. Without keys it is the root itself. */
export type Path = { readonly root: (typeof pathRoots)[number]; readonly keys: readonly string[] };

/** The path as a pipeline writes it. */
export function pathText({ root, keys }: Path): string {
  return [root, ...keys].join('.');
}

export const operators = [
  'exists',
  'eq',
  'neq',
  'in',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'startswith',
  'endswith',
  'regex',
] as const;
export type Operator = (typeof operators)[number];

export type Condition =
  | { readonly kind: 'test'; readonly path: Path; readonly op: Operator; readonly value: Json }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition };

/** A value of `with`: a literal, a single reference, text that contains references, or a list or map of these. */
export type Template =
  | { readonly kind: 'literal'; readonly value: Json }
  | { readonly kind: 'reference'; readonly path: Path }
  | { readonly kind: 'text'; readonly parts: readonly (string | Path)[] }
  | { readonly kind: 'list'; readonly items: readonly Template[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [string, Template])[] };

export type Join = { readonly collect: 'results' | 'counts' };

type StepCommon = {
  /** The given id, or the position of the step, such as `2.1.1`; unique in the pipeline. */
  readonly id: string;
  readonly if: Condition | null;
  readonly onError: 'continue' | 'fail';
  readonly join: Join | null;
};

/** The fields of steps that create jobs, which are the steps with `uses` or `call`. */
type WorkStepFields = StepCommon & {
  readonly foreach: Path | null;
  readonly with: readonly (readonly [string, Template])[] | null;
  /** Pairs: a dotted name in the context, and the path from which its value is read. */
  readonly baggage: readonly (readonly [string, Path])[];
  /** Present only with `foreach`: a failed element fails the run only after all elements have ended. */
  readonly failFast?: false;
};

/** The retry settings of a step, which replace the plugin's settings. For an absent field, the plugin's setting applies. */
export type StepRetry = {
  readonly attemptsMax?: number;
  readonly backoffBaseMs?: number;
  readonly backoffMaxMs?: number;
};

export type Step =
  | (WorkStepFields & {
      readonly kind: 'uses';
      readonly instance: string;
      readonly command: string;
      readonly retry?: StepRetry;
      /** The deadline of one attempt; absent: the command's deadline. */
      readonly timeoutMs?: number;
    })
  | (WorkStepFields & {
      readonly kind: 'call';
      readonly pipeline: string;
      /** How long the called run may take before it is cancelled; absent: without limit. */
      readonly timeoutMs?: number;
    })
  | (StepCommon & {
      readonly kind: 'split';
      readonly branches: readonly { readonly name: string | null; readonly steps: readonly Step[] }[];
    })
  | (StepCommon & { readonly kind: 'steps'; readonly steps: readonly Step[] });

const jobHooks = ['job.completed', 'job.failed', 'job.timed_out', 'job.cancelled'] as const;
const runHooks = ['pipeline.completed', 'pipeline.failed', 'pipeline.timed_out', 'pipeline.cancelled'] as const;
export const hooks = [...jobHooks, ...runHooks] as const;
export type Hook = (typeof hooks)[number];

export function isJobHook(hook: Hook): boolean {
  return (jobHooks as readonly Hook[]).includes(hook);
}

export type PipelineDefinition = {
  readonly name: string;
  readonly description?: string;
  /** The full JSON Schema for the payload of a call, delivery or schedule (the short form is expanded). */
  readonly inputSchema?: JsonObject;
  /** The type of the events that start the pipeline; null: no event starts it. */
  readonly on: string | null;
  readonly onHook: Hook | null;
  readonly executionMode: 'synchronous' | 'asynchronous';
  readonly timeoutMs: number;
  readonly if: Condition | null;
  readonly steps: readonly Step[];
  /** How long the steps of a run may take, counted from its `run_at`, else from its acceptance; absent: without limit. */
  readonly deadlineMs?: number;
  /** The steps that follow if the main part has failed or passed its own deadline, and at least one of its jobs has started. */
  readonly onFailure?: readonly Step[];
  /** The steps that follow every outcome of a run in which at least one job of the main part has started. */
  readonly finally?: readonly Step[];
  /**
   * How long `onFailure` may take, and how long `finally` may take; present if the pipeline has at least one of them.
   */
  readonly phaseTimeoutMs?: number;
};

/** The top-level step lists of a pipeline: its main part, then its phases, in the order in which they run. */
export function stepLists({ steps, onFailure, finally: last }: PipelineDefinition): readonly (readonly Step[])[] {
  return [steps, onFailure, last].filter(list => list !== undefined);
}
