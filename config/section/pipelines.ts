// The `pipelines` section: its check, with every problem brought to its place in the files.
import { reportDuplicates } from '../check/duplicate.ts';
import type { Report } from '../check/problem.ts';
import { checkPipelines } from '../pipeline/check.ts';
import type { PipelineDefinition } from '../pipeline/definition.ts';
import { type Instances, reportUnusable } from '../plugin/instances.ts';
import { nodeAt, placesAt, plainValue, type SourceNode, textOf } from '../source/tree.ts';

export function readPipelines(root: SourceNode, instances: Instances, report: Report): readonly PipelineDefinition[] {
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
  return pipelines;
}
