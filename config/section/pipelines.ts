// The `pipelines` section: its check, with every problem brought to its place in the files.
import { reportDuplicates } from '../check/duplicate.ts';
import type { Report } from '../check/problem.ts';
import { checkPipelines } from '../pipeline/check.ts';
import type { PipelineDefinition } from '../pipeline/definition.ts';
import type { Instances } from '../plugin/instances.ts';
import { itemsOf, nodeAt, placesAt, plainValue, type SourceNode, textOf } from '../source/tree.ts';

export function readPipelines(root: SourceNode, instances: Instances, report: Report): readonly PipelineDefinition[] {
  const list = nodeAt(root, 'pipelines');
  if (list?.kind !== 'list') return [];
  reportDuplicates(list, ['pipelines'], 'name', 'the name of a pipeline', report);
  reportUnusable(list, instances, report);
  const known = Object.entries(instances.plugins).map(
    ([name, instance]) => [name, { commands: instance.manifest.commands.map(command => command.name) }] as const,
  );
  const { pipelines, problems } = checkPipelines(plainValue(list), Object.fromEntries(known));
  for (const { path, message, at } of problems) {
    const full = ['pipelines', ...path];
    report({ place: placesAt(root, full)[at ?? 'value'], path: full, message });
  }
  return pipelines;
}

/** To the check a broken plugin is an unknown one: here its own problems are told too, wherever a step names it. */
function reportUnusable(node: SourceNode, instances: Instances, report: Report): void {
  for (const item of node.kind === 'map' ? [...node.entries.values()].map(entry => entry.value) : itemsOf(node)) {
    reportUnusable(item, instances, report);
  }
  const name = textOf(nodeAt(node, 'uses'))?.split('.')[0];
  if (name === undefined || Object.hasOwn(instances.plugins, name)) return;
  for (const problem of instances.unusable.get(name) ?? []) report(problem);
}
