// The `pipelines` section: its check, with every problem brought to its place in the files.
import type { SchemaCompiler } from '../../runtime/json-schema.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { reportDuplicates } from '../check/duplicate.ts';
import type { Report } from '../check/problem.ts';
import { checkPipelines } from '../pipeline/check.ts';
import type { PipelineDefinition } from '../pipeline/definition.ts';
import { readSchema } from '../plugin/command.ts';
import { type Instances, reportUnusable } from '../plugin/instances.ts';
import { itemsOf, nodeAt, placesAt, plainValue, type SourceNode, textOf } from '../source/tree.ts';

export function readPipelines(
  root: SourceNode,
  instances: Instances,
  compiler: SchemaCompiler,
  report: Report,
): readonly PipelineDefinition[] {
  const list = nodeAt(root, 'pipelines');
  if (list?.kind !== 'list') return [];
  reportDuplicates(list, ['pipelines'], 'name', 'the name of a pipeline', report);
  const known = Object.entries(instances.plugins).map(
    ([name, instance]) => [name, { commands: instance.manifest.commands.map(command => command.name) }] as const,
  );
  const { pipelines, problems } = checkPipelines(plainValue(list), Object.fromEntries(known));
  for (const { path, message, at } of problems) {
    const full = ['pipelines', ...path];
    const name = path.at(-1) === 'uses' ? textOf(nodeAt(root, ...full))?.split('.')[0] : undefined;
    const isAbsent = name !== undefined && !Object.hasOwn(instances.plugins, name);
    // To the check a plugin that is broken or disabled is an unknown one.
    const reason = isAbsent ? reportUnusable(instances, name, report) : null;
    report({ place: placesAt(root, full)[at ?? 'value'], path: full, message: reason ?? message });
  }
  return withInputSchemas(pipelines, root, compiler, report);
}

/** Whoever calls is held to them; the engine has no use for them. */
function withInputSchemas(
  pipelines: readonly PipelineDefinition[],
  root: SourceNode,
  compiler: SchemaCompiler,
  report: Report,
): readonly PipelineDefinition[] {
  const schemas = new Map<string, JsonObject>();
  for (const [index, item] of itemsOf(nodeAt(root, 'pipelines')).entries()) {
    const schema = readSchema(root, ['pipelines', index, 'input_schema'], 'headgate', compiler, report);
    if (schema !== null) schemas.set(textOf(nodeAt(item, 'name')) ?? '', schema);
  }
  return pipelines.map(pipeline => {
    const inputSchema = schemas.get(pipeline.name);
    return inputSchema === undefined ? pipeline : { ...pipeline, inputSchema };
  });
}
