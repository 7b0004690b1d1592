// Files on disk to one frozen, checked `Config`, or everything that is wrong with them.
import { availableParallelism } from 'node:os';
import { makeSchemaCompiler } from '../runtime/json-schema.ts';
import { formatPlace, formatProblems, type Problem } from './check/problem.ts';
import { checkShape } from './check/shape.ts';
import type { Config } from './config.ts';
import { discoverPlugins } from './plugin/discovery.ts';
import { makeInstances } from './plugin/instances.ts';
import { makeManifestReader } from './plugin/manifest.ts';
import { readApi } from './section/api.ts';
import { checkListeners } from './section/listen.ts';
import { readPipelines } from './section/pipelines.ts';
import { readPluginRoots, readService, readState, readVault } from './section/service.ts';
import { settingsSchema } from './section/settings.ts';
import { readTokens, readWebhooks } from './section/webhooks.ts';
import { diskFiles, type Files } from './source/files.ts';
import { readClosure } from './source/includes.ts';
import type { Environment } from './source/interpolation.ts';
import { findMainFile } from './source/main-file.ts';
import { mergeTrees } from './source/merge.ts';
import { emptyMap, nodeAt, type SourceNode } from './source/tree.ts';

export type LoadOptions = {
  /** `--config`: a file, or a directory with a config.yaml. */
  readonly path?: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
  /** Default of `max_workers`. */
  readonly processors?: number;
  /** Each file is read exactly once, through `read`. */
  readonly disk?: Files;
};

export type LoadResult =
  | { readonly ok: true; readonly config: Config }
  /** Problems are lines `file:line:column: path: what is wrong and what would be right`, in the order of reading. */
  | { readonly ok: false; readonly problems: readonly string[]; readonly warnings: readonly string[] };

/** Never throws for what files and environment say. */
export function loadConfig(options: LoadOptions): LoadResult {
  const disk = options.disk ?? diskFiles;
  const main = findMainFile(options.path, options.env, options.cwd, disk);
  if (!main.ok) {
    const line = main.place === null ? main.message : `${main.place}:1:1: ${main.message}`;
    return { ok: false, problems: [line], warnings: [] };
  }
  const problems: Problem[] = [];
  const report = (problem: Problem): void => {
    problems.push(problem);
  };

  const { files, documents } = readClosure(main.file, disk, options.env, report);
  const start = { file: main.file, line: 1, column: 1 };
  const merged = documents.reduce<SourceNode>((all, next) => mergeTrees(all, next, report), emptyMap(start));
  const compiler = makeSchemaCompiler();
  const root = checkShape(merged, settingsSchema, report);

  const roots = readPluginRoots(root, main.file);
  const discovery = discoverPlugins(roots, disk, makeManifestReader(disk, compiler), report);
  const instances = makeInstances(nodeAt(root, 'plugins'), discovery, report);
  const tokens = readTokens(root, report);
  const state = readState(root, main.file);
  const api = readApi(root, report);
  const webhooks = readWebhooks(root, tokens, instances, report);
  checkListeners(root, api, webhooks, report);
  const config: Config = {
    mainFile: main.file,
    files,
    service: readService(root, options.processors ?? availableParallelism()),
    state,
    api,
    webhooks,
    tokens,
    pluginRoots: [...new Set(roots.map(pluginRoot => pluginRoot.directory))],
    plugins: instances.plugins,
    pipelines: readPipelines(root, instances, report),
    vault: readVault(root, state.path),
    warnings: formatProblems(instances.warnings, files),
  };
  if (problems.length === 0) return { ok: true, config: freezeDeeply(config) };
  // What something names has become an error.
  const told = new Set(problems.map(placeText));
  const others = instances.warnings.filter(warning => !told.has(placeText(warning)));
  return { ok: false, problems: formatProblems(problems, files), warnings: formatProblems(others, files) };
}

function placeText({ place }: Problem): string {
  return place === null ? '' : formatPlace(place);
}

function freezeDeeply<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) freezeDeeply(inner);
  return Object.freeze(value);
}
