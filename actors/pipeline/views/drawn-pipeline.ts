// A pipeline as it is drawn (docs/pipelines.md#drawing): its steps, branches and phases, with their conditions as text.

import { type Condition, type PipelineDefinition, pathText, type Step } from '../../../config/pipeline/definition.ts';
import { isSecretKey, redacted } from '../../../config/view.ts';
import type { JsonObject } from '../../../runtime/packing.ts';

/** The pipeline as JSON, without `with`, `baggage` and `retry` of its steps. */
export function drawnPipeline(pipeline: PipelineDefinition): JsonObject {
  const { name, description, on, onHook, executionMode, timeoutMs, inputSchema, steps, onFailure } = pipeline;
  const { deadlineMs, phaseTimeoutMs, finally: last } = pipeline;
  return {
    name,
    ...(description !== undefined && { description }),
    ...(on !== null && { on }),
    ...(onHook !== null && { on_hook: onHook }),
    execution_mode: executionMode,
    timeout_ms: timeoutMs,
    ...(deadlineMs !== undefined && { deadline_ms: deadlineMs }),
    ...(phaseTimeoutMs !== undefined && { phase_timeout_ms: phaseTimeoutMs }),
    ...(inputSchema !== undefined && { input_schema: inputSchema }),
    ...conditionOf(pipeline),
    steps: steps.map(drawnStep),
    ...(onFailure !== undefined && { on_failure: onFailure.map(drawnStep) }),
    ...(last !== undefined && { finally: last.map(drawnStep) }),
  };
}

/** The condition as text. If a key of the path names a secret (config/view.ts), `redacted` replaces the value. */
export function conditionText(condition: Condition): string {
  if (condition.kind === 'not') return `not (${conditionText(condition.of)})`;
  if (condition.kind !== 'test')
    return condition.of.map(inner => `(${conditionText(inner)})`).join(` ${condition.kind === 'all' ? 'and' : 'or'} `);
  const { path, op, value } = condition;
  if (op === 'exists') return `${pathText(path)} ${value === true ? 'exists' : 'is absent'}`;
  return `${pathText(path)} ${op} ${JSON.stringify(path.keys.some(isSecretKey) ? redacted : value)}`;
}

function drawnStep(step: Step): JsonObject {
  const { id, kind, onError, join } = step;
  return {
    id,
    kind,
    ...conditionOf(step),
    ...(join !== null && { join: join.collect }),
    ...(onError === 'continue' && { on_error: onError }),
    ...partsOf(step),
  };
}

function partsOf(step: Step): JsonObject {
  switch (step.kind) {
    case 'uses':
      return { plugin: step.instance, command: step.command, ...workOf(step) };
    case 'call':
      return { pipeline: step.pipeline, ...workOf(step) };
    case 'split':
      return { branches: step.branches.map(({ name, steps }) => ({ name, steps: steps.map(drawnStep) })) };
    case 'steps':
      return { steps: step.steps.map(drawnStep) };
  }
}

function workOf({ foreach, failFast, timeoutMs }: Extract<Step, { kind: 'uses' | 'call' }>): JsonObject {
  return {
    ...(foreach !== null && { foreach: pathText(foreach) }),
    ...(failFast === false && { fail_fast: false }),
    ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
  };
}

function conditionOf({ if: condition }: { readonly if: Condition | null }): JsonObject {
  return condition === null ? {} : { if: conditionText(condition) };
}
