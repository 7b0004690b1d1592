// Pipelines written as plain values, checked and read as those of a configuration file are.
import { type ConfigProblem, formatPath } from '../../../../config/check/problem.ts';
import { checkShape } from '../../../../config/check/shape.ts';
import type { Config } from '../../../../config/config.ts';
import type { PipelineDefinition } from '../../../../config/pipeline/definition.ts';
import type { Instances } from '../../../../config/plugin/instances.ts';
import { readPipelines } from '../../../../config/section/pipelines.ts';
import { settingsSchema } from '../../../../config/section/settings.ts';
import type { MapEntry, SourceLocation, SourceNode } from '../../../../config/source/tree.ts';
import { makeSchemaCompiler } from '../../../../runtime/json-schema.ts';
import type { Json } from '../../../../runtime/packing.ts';

/** Plugin -> its commands. */
export type Commands = { readonly [plugin: string]: readonly string[] };

const compiler = makeSchemaCompiler();

/** The pipelines, and a line `path: what is wrong` for each problem, in the order in which they are found. */
export function checkPipelines(
  pipelines: unknown,
  commands: Commands,
): { readonly pipelines: readonly PipelineDefinition[]; readonly problems: readonly string[] } {
  const problems: ConfigProblem[] = [];
  const report = (problem: ConfigProblem): void => void problems.push(problem);
  const plugins = Object.entries(commands).map(
    ([name, names]) => [name, { manifest: { commands: names.map(command => ({ name: command })) } }] as const,
  );
  const instances = { plugins: Object.fromEntries(plugins), unusable: new Map(), disabled: {}, warnings: [] };
  const root = checkShape(treeOf({ pipelines }), settingsSchema, report);
  const found = readPipelines(root, instances as unknown as Instances, compiler, report);
  return { pipelines: found, problems: problems.map(({ path, message }) => `${formatPath(path)}: ${message}`) };
}

type Plain = {
  readonly pipelines: unknown;
  readonly plugins: object;
  readonly configs?: { readonly [plugin: string]: Json };
  readonly jobsPerRootMax?: number;
};

/** What the actor needs of a configuration with these pipelines and plugins. */
export function configOf({ pipelines, plugins, configs, jobsPerRootMax = 10_000_000 }: Plain): Config {
  const known = Object.fromEntries(Object.keys(plugins).map(name => [name, ['handle', 'poll']]));
  const checked = checkPipelines(pipelines, known);
  if (checked.problems.length > 0) throw new Error(checked.problems.join('\n'));
  const instances = Object.keys(plugins).map(name => [name, { config: configs?.[name] ?? {} }]);
  const service = { queueDepthMax: 1_000_000, jobsPerRootMax };
  return { service, pipelines: checked.pipelines, plugins: Object.fromEntries(instances) } as unknown as Config;
}

const place: SourceLocation = { file: 'config.yaml', line: 1, column: 1 };

function treeOf(value: unknown): SourceNode {
  if (Array.isArray(value)) return { kind: 'list', place, items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) {
    const plain = typeof value !== 'string';
    return { kind: 'scalar', place, value: value as null, written: JSON.stringify(value), plain };
  }
  const given = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const entries = given.map(([key, inner]): [string, MapEntry] => [key, { keyPlace: place, value: treeOf(inner) }]);
  return { kind: 'map', place, entries: new Map(entries) };
}
