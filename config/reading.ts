// Reads and checks the configuration files. The result is one `Config`, and all problems of the files.
import { availableParallelism } from 'node:os';
import { makeSchemaCompiler } from '../runtime/json-schema.ts';
import { asWritten, type ConfigProblem, formatProblems, placeText, reportIn } from './check/problem.ts';
import { checkShape } from './check/shape.ts';
import type { Config, Manifest } from './config.ts';
import { discoverPlugins, type PluginDirectory } from './plugin/discovery.ts';
import { withHidden } from './plugin/hidden.ts';
import { makeInstances } from './plugin/instances.ts';
import { makeManifestReader } from './plugin/manifest.ts';
import { isStrictEnvironment, keyFileOf } from './seal/key.ts';
import { readApi } from './section/api.ts';
import { checkListeners } from './section/listen.ts';
import { readMetrics } from './section/metrics.ts';
import { readPipelines } from './section/pipelines.ts';
import { readSchedules } from './section/schedules.ts';
import { readBackups, readLog, readPluginRoots, readService, readState, readVault } from './section/service.ts';
import { settingsSchema } from './section/settings.ts';
import { type Certificates, readCertificates } from './section/tls.ts';
import { readUi } from './section/ui.ts';
import { readTokens, readWebhooks } from './section/webhooks.ts';
import { diskFiles, type Files, keepingBytes } from './source/files.ts';
import { readClosure } from './source/includes.ts';
import type { Environment } from './source/interpolation.ts';
import { findMainFile } from './source/main-file.ts';

export type ReadOptions = {
  /** `--config`: a file, or a directory with a config.yaml. */
  readonly path?: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
  /** The number of processors, which is the default of `service.max_workers`. */
  readonly processors?: number;
  /** The file system. Each configuration file and each manifest is read exactly once, through `read`. */
  readonly disk?: Files;
};

/** The result of reading the configuration files, whether they are valid or not. */
export type ConfigReading = {
  /** The configuration. It may be used only if there are no problems; it is not frozen yet. */
  readonly config: Config;
  /** The certificates of the listeners. They are not part of `config`, because `config` is passed to other threads. */
  readonly certificates: Certificates;
  /** Lines `file:line:column: path: what is wrong and what would be right`, sorted by file (in the order of reading), line and column. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** The location of every plugin in the roots, valid or not. */
  readonly pluginPlaces: readonly PluginDirectory[];
  /** The manifest of every valid plugin in the roots, enabled or not. Of plugins with the same name, only the first one counts. */
  readonly manifests: readonly Manifest[];
  /** The bytes of each file that was parsed, by path. */
  readonly bytes: ReadonlyMap<string, Uint8Array>;
};

/**
 * Reads and checks all files of the configuration. Never throws because of the contents of files or environment. Returns a
 * message if there is no main file.
 */
export function readConfiguration(options: ReadOptions): ConfigReading | string {
  const bytes = new Map<string, Uint8Array>();
  const disk = keepingBytes(options.disk ?? diskFiles, bytes);
  const main = findMainFile(options.path, options.env, options.cwd, disk);
  if (!main.ok) return main.problem;
  const problems: ConfigProblem[] = [];
  const report = (problem: ConfigProblem): void => void problems.push(problem);

  const { files, merged } = readClosure(main.file, disk, options.env, report);
  const compiler = makeSchemaCompiler();
  const root = checkShape(merged, settingsSchema, report);
  const reportAt = reportIn(root, report);

  const roots = readPluginRoots(root, main.file);
  const discovery = discoverPlugins(roots, disk, makeManifestReader(disk, compiler), report);
  const instances = makeInstances(root, discovery, report);
  const tokens = readTokens(root, reportAt);
  const state = readState(root, main.file, reportAt);
  const api = readApi(root, reportAt);
  const webhooks = readWebhooks(root, tokens, instances, report);
  const metrics = readMetrics(root, reportAt);
  const ui = readUi(root, reportAt);
  const backups = readBackups(root, main.file, reportAt);
  checkListeners(root, { api, webhooks, metrics }, reportAt);
  const service = readService(root, options.processors ?? availableParallelism());
  const warned: ConfigProblem[] = [...discovery.warnings, ...instances.warnings];
  const warn = (problem: ConfigProblem): void => void warned.push(problem);
  const strict = service.strictMode || isStrictEnvironment(options.env);
  // The certificates are not read through `disk`, because `bytes` would then contain the private keys.
  const certificates = readCertificates(root, { api: api.tls, webhooks: webhooks.tls }, options.disk ?? diskFiles, {
    ...{ strict, report, warn },
  });
  const pipelines = readPipelines(root, instances, compiler, report);
  const schedules = readSchedules(root, { instances, pipelines, compiler, report, warn, nowMs: Date.now() });
  // Problems are looked up in both trees. Early checks report paths with the keys as written (`merged`), later ones with misspelt keys
  // corrected (`root`).
  const shown = (problem: ConfigProblem): ConfigProblem => asWritten(root, asWritten(merged, problem));
  // A warning is left out if an error is reported at the same place.
  const reported = new Set(problems.map(placeText));
  const warnings = formatProblems(warned.filter(warning => !reported.has(placeText(warning))).map(shown), files);
  const config: Config = {
    mainFile: main.file,
    files,
    service,
    log: readLog(root),
    state,
    api,
    webhooks,
    metrics,
    ui,
    tokens,
    pluginRoots: [...new Set(roots.map(pluginRoot => pluginRoot.directory))],
    plugins: instances.plugins,
    disabledPlugins: instances.disabled,
    unusablePlugins: [...instances.unusable.keys()].filter(name => !discovery.bundled.has(name)),
    pipelines,
    schedules,
    vault: readVault(root, state.path),
    backups,
    warnings,
  };
  return {
    config: { ...config, plugins: withHidden(config, keyFileOf(options.env, options.cwd)) },
    certificates,
    problems: formatProblems(problems.map(shown), files),
    warnings,
    pluginPlaces: discovery.places,
    manifests: [...discovery.manifests.values()],
    bytes,
  };
}
