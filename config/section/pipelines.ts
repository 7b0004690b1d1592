// Reads the `pipelines` section. The schema has checked its shape; this file and config/pipeline/ check the rules that a schema cannot express.

import type { SchemaCompiler } from '../../runtime/json-schema.ts';
import { isObject } from '../../runtime/json-value.ts';
import { reportDuplicates } from '../check/duplicate.ts';
import { readDuration } from '../check/duration.ts';
import { type Report, reportIn } from '../check/problem.ts';
import { readCondition } from '../pipeline/condition.ts';
import { findCycles } from '../pipeline/cycles.ts';
import { hooks, type PipelineDefinition } from '../pipeline/definition.ts';
import { readSteps, type StepContext } from '../pipeline/step.ts';
import { readSchema } from '../plugin/command.ts';
import { type Instances, reportUnusable } from '../plugin/instances.ts';
import { type NodePath, nodeAt, plainValue, type SourceNode } from '../source/tree.ts';

const timeoutSecsDefault = 30;
/** How long each phase may take if `phase_timeout` is not set. */
const phaseTimeoutDefaultMs = 5 * 60_000;

export function readPipelines(
  root: SourceNode,
  instances: Instances,
  compiler: SchemaCompiler,
  report: Report,
): readonly PipelineDefinition[] {
  const list = nodeAt(root, 'pipelines');
  if (list?.kind !== 'list') return [];
  const reportAt = reportIn(root, report);
  reportDuplicates(root, ['pipelines'], 'name', 'the name of a pipeline', reportAt);
  const items = plainValue(list) as readonly unknown[];
  const commandsOf = ({ manifest }: Instances['plugins'][string]) => manifest.commands.map(command => command.name);
  const onlyOnce = Object.entries(instances.plugins).flatMap(([name, { manifest }]) =>
    manifest.commands.flatMap(command => (command.retrySafe === false ? [`${name}.${command.name}`] : [])),
  );
  const around = {
    plugins: new Map(Object.entries(instances.plugins).map(([name, instance]) => [name, commandsOf(instance)])),
    onlyOnce: new Set(onlyOnce),
    pipelines: items.flatMap(item => (isObject(item) && typeof item['name'] === 'string' ? [item['name']] : [])),
    whyUnusable: (plugin: string) => reportUnusable(instances, plugin, report),
    reportAt,
  };
  const read = items.map((item, index) => {
    const inputSchema = readSchema(root, ['pipelines', index, 'input_schema'], 'headgate', compiler, reportAt);
    const pipeline = isObject(item) ? readPipeline(item, { ...around, ids: new Map() }, ['pipelines', index]) : null;
    return pipeline && { ...pipeline, ...(inputSchema && { inputSchema }) };
  });
  const pipelines = read.filter(pipeline => pipeline !== null);
  for (const cycle of findCycles(pipelines)) {
    const index = read.findIndex(pipeline => pipeline?.name === cycle[0]);
    reportAt(
      ['pipelines', index, 'steps'],
      `is part of a cycle of calls: ${cycle.join(' → ')}; remove one of these calls`,
    );
  }
  return pipelines;
}

/** Reads a definition; null if it has no name. A definition of a wrong shape, which the schema has reported, is never used. */
function readPipeline(
  value: { readonly [key: string]: unknown },
  around: StepContext,
  at: NodePath,
): PipelineDefinition | null {
  const { name, description, on, on_hook: onHook, execution_mode: mode, timeout_secs: timeoutSecs } = value;
  if (typeof name !== 'string') return null;
  const deadlineMs = readDuration(value['deadline'], [...at, 'deadline'], around.reportAt);
  if (on !== undefined && onHook !== undefined)
    around.reportAt([...at, 'on_hook'], 'a pipeline has "on" or "on_hook", not both');
  return {
    name,
    ...(typeof description === 'string' && { description: description.trim() }),
    on: typeof on === 'string' ? on : null,
    onHook: hooks.find(hook => hook === onHook) ?? null,
    executionMode: mode === 'synchronous' || mode === 'sync' ? 'synchronous' : 'asynchronous',
    timeoutMs: (typeof timeoutSecs === 'number' ? timeoutSecs : timeoutSecsDefault) * 1000,
    if: readCondition(value['if'], ['payload', 'context'], [...at, 'if'], around.reportAt),
    steps: readSteps(value['steps'], around, [...at, 'steps'], '', 'fail'),
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...readPhases(value, around, at),
  };
}

/** Reads the phases. In a phase, a step without an id gets its position as id, such as `finally.1`. */
function readPhases(
  value: { readonly [key: string]: unknown },
  around: StepContext,
  at: NodePath,
): Pick<PipelineDefinition, 'onFailure' | 'finally' | 'phaseTimeoutMs'> {
  const { on_failure: onFailure, finally: last, phase_timeout: timeout } = value;
  const phaseTimeoutMs = readDuration(timeout, [...at, 'phase_timeout'], around.reportAt) ?? phaseTimeoutDefaultMs;
  if (onFailure === undefined && last === undefined) {
    const rule = '"phase_timeout" belongs to a pipeline with "on_failure" or "finally"';
    if (timeout !== undefined) around.reportAt([...at, 'phase_timeout'], rule, 'key');
    return {};
  }
  const read = (steps: unknown, key: string) => readSteps(steps, around, [...at, key], `${key}.`, 'fail');
  return {
    ...(onFailure !== undefined && { onFailure: read(onFailure, 'on_failure') }),
    ...(last !== undefined && { finally: read(last, 'finally') }),
    phaseTimeoutMs,
  };
}
