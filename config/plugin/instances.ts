// Combines the discovered plugins and the `plugins` section into the instances that jobs can use.
import type { JsonObject } from '../../runtime/packing.ts';
import { deadlineMax, readDuration } from '../check/duration.ts';
import { type ConfigProblem, formatPlace, type Report, type ReportAt, reportIn } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import { type Config, type Manifest, type PluginInstance, retryDefault } from '../config.ts';
import { parseDuration } from '../quantity.ts';
import {
  entriesOf,
  flagOf,
  isEmptyNode,
  nodeAt,
  numberOf,
  plainValue,
  type SourceNode,
  textOf,
} from '../source/tree.ts';
import { checkConcurrency, readConcurrency, unknownCommand } from './concurrency.ts';
import type { Discovery } from './discovery.ts';
import { isReserved, reservedMessage } from './manifest.ts';
import { checkSandbox, readSandbox } from './sandbox.ts';

const deadlineDefaultMs = new Map([
  ['handle', 120_000],
  ['health', 10_000],
]);
const deadlineOtherMs = 60_000;

export type Instances = {
  /** Enabled instances, sorted by name. */
  readonly plugins: { readonly [instance: string]: PluginInstance };
  /** The problems of each plugin that cannot be used, by name. They become errors if the configuration uses the name. */
  readonly unusable: ReadonlyMap<string, readonly ConfigProblem[]>;
  readonly disabled: Config['disabledPlugins'];
  /** Problems of plugins that the section `plugins` does not name, and settings that have no effect. */
  readonly warnings: readonly ConfigProblem[];
};

/**
 * Returns why a disabled or unusable plugin cannot be used as an instance, and reports the problems of an unusable one. Null for every other
 * name.
 */
export function reportUnusable(instances: Instances, name: string, report: Report): string | null {
  if (Object.hasOwn(instances.disabled, name))
    return `the plugin ${JSON.stringify(name)} is disabled; enable it or use another`;
  const problems = instances.unusable.get(name);
  if (problems === undefined) return null;
  for (const problem of problems) report(problem);
  return unusableMessage(name, problems);
}

function unusableMessage(name: string, problems: readonly ConfigProblem[]): string {
  const place = problems[0]?.place;
  return `the plugin ${JSON.stringify(name)} is not usable${place ? `; see ${formatPlace(place)}` : ''}`;
}

type InstanceBuild = {
  readonly discovery: Discovery;
  readonly configured: SourceNode | undefined;
  readonly report: Report;
  readonly reportAt: ReportAt;
  readonly unusable: Map<string, readonly ConfigProblem[]>;
  /** The unusable plugins to which entries of `plugins` lead. Their problems are errors, so they are not repeated as warnings. */
  readonly named: Set<string>;
  readonly warnings: ConfigProblem[];
};

export function makeInstances(root: SourceNode, discovery: Discovery, report: Report): Instances {
  const configured = nodeAt(root, 'plugins');
  const { manifests, broken } = discovery;
  const brokenOnly = broken.filter(plugin => !manifests.has(plugin.name));
  const work: InstanceBuild = {
    discovery,
    configured,
    report,
    reportAt: reportIn(root, report),
    unusable: new Map(brokenOnly.map(plugin => [plugin.name, plugin.problems])),
    named: new Set(),
    warnings: [],
  };
  const found: PluginInstance[] = [];
  const disabled: [string, { config: JsonObject }][] = [];
  const { warnings } = work;
  for (const [name, entry] of entriesOf(configured)) {
    if (isReserved(name)) work.reportAt(['plugins', name], reservedMessage, 'key');
    if (flagOf(entry.value, 'enabled') === false) disabled.push([name, { config: configOf(entry.value) }]);
    else {
      const instance = configuredInstance(work, name, entry.value);
      if (instance !== null) found.push(instance);
    }
  }
  for (const [name, manifest] of manifests) {
    if (nodeAt(configured, name) !== undefined) continue;
    const offer = discovery.bundled.get(name);
    if (offer !== undefined) {
      // Bundled plugins are off unless `plugins` names them.
      const message = `the bundled plugin ${JSON.stringify(name)} is off; add plugins.${name} to switch it on`;
      work.unusable.set(name, [{ place: offer.place, path: offer.path, message }]);
      continue;
    }
    const missing = manifest.configKeys.required;
    if (missing.length === 0) {
      found.push(composeInstance(name, manifest, undefined));
      continue;
    }
    const place = { file: `${manifest.directory}/manifest.yaml`, line: 1, column: 1 };
    const message = `the plugin ${JSON.stringify(name)} is not loaded until plugins.${name}.config has ${missing.join(', ')}`;
    const problem: ConfigProblem = { place, path: ['config_keys', 'required'], message };
    warnings.push(problem);
    work.unusable.set(name, [problem]);
  }
  for (const { name, problems } of broken) {
    const note = `; until then the plugin ${JSON.stringify(name)} is not loaded`;
    if (!work.named.has(name))
      warnings.push(...problems.map(problem => ({ ...problem, message: problem.message + note })));
  }
  const sorted = found.sort((a, b) => (a.name < b.name ? -1 : 1)).map(instance => [instance.name, instance] as const);
  return {
    plugins: Object.fromEntries(sorted),
    unusable: work.unusable,
    disabled: Object.fromEntries(disabled),
    warnings,
  };
}

/** Makes the instance of an entry of `plugins`. Null if that is impossible; the reason is then reported. */
function configuredInstance(work: InstanceBuild, name: string, node: SourceNode): PluginInstance | null {
  const resolved = resolveManifest(work, name);
  if (resolved === null) return null;
  const { manifest, bases } = resolved;
  checkConfigKeys(work, name, manifest, node);
  checkTimeouts(work, name, manifest, node);
  checkBreaker(work, name, node);
  checkDelays(work, name, node);
  checkSandbox(name, manifest, node, work.reportAt);
  checkConcurrency(name, manifest, node, work.reportAt);
  const parallelism = nodeAt(node, 'parallelism');
  if (parallelism !== undefined && (numberOf(parallelism) ?? 1) > 1 && !manifest.concurrencySafe) {
    const message = `has no effect: the plugin ${JSON.stringify(manifest.name)} is not concurrency_safe and runs one job at a time`;
    work.warnings.push({ place: parallelism.place, path: ['plugins', name, 'parallelism'], message });
  }
  return { ...composeInstance(name, manifest, node), ...(bases.length > 0 && { bases }) };
}

/**
 * Follows the `uses` of an instance, name by name, until it reaches a manifest. `bases` are the names that follow the
 * instance's own name. Null if the chain leads to no manifest.
 */
function resolveManifest(
  work: InstanceBuild,
  instance: string,
): { readonly manifest: Manifest; readonly bases: readonly string[] } | null {
  const { configured, discovery, reportAt } = work;
  const chain = [instance];
  for (;;) {
    const name = chain.at(-1)!;
    const next = textOf(configured, name, 'uses');
    if (next === undefined) {
      const manifest = namedManifest(work, instance, name, chain);
      return manifest && { manifest, bases: chain.slice(1) };
    }
    if (chain.includes(next)) {
      const cycle = [...chain, next].join(' -> ');
      reportAt(['plugins', instance, 'uses'], `forms a cycle: ${cycle}; one of them must be a plugin`);
      return null;
    }
    const isKnown = nodeAt(configured, next) !== undefined || discovery.manifests.has(next) || work.unusable.has(next);
    if (!isKnown) {
      reportAt(['plugins', name, 'uses'], unknownPlugin(work, next));
      return null;
    }
    chain.push(next);
  }
}

function namedManifest(work: InstanceBuild, instance: string, name: string, chain: readonly string[]): Manifest | null {
  const manifest = work.discovery.manifests.get(name);
  if (manifest !== undefined) return manifest;
  const via = chain.at(-2);
  const path = via === undefined ? ['plugins', instance] : ['plugins', via, 'uses'];
  const at = via === undefined ? 'key' : 'value';
  const problems = work.unusable.get(name);
  if (problems !== undefined) {
    work.named.add(name);
    for (const problem of problems) work.report(problem);
    work.reportAt(path, unusableMessage(name, problems), at);
  } else if (via === undefined || flagOf(work.configured, name, 'enabled') === false) {
    // Any other base has an enabled entry in `plugins`, and the problem is reported at that entry.
    work.reportAt(path, unknownPlugin(work, name), at);
  }
  return null;
}

function unknownPlugin({ discovery }: InstanceBuild, name: string): string {
  const known = [...discovery.manifests.keys()].sort();
  return `there is no plugin ${JSON.stringify(name)} in the plugin roots${hint(name, known, 'plugins')}`;
}

/**
 * Reports required keys that the config lacks. Warns of keys that the manifest does not list, if it lists any: a ductile manifest may leave
 * out keys that its plugin reads.
 */
function checkConfigKeys(work: InstanceBuild, name: string, manifest: Manifest, node: SourceNode): void {
  const { reportAt, warnings } = work;
  const { required, optional } = manifest.configKeys;
  for (const key of required) {
    const value = nodeAt(node, 'config', key);
    if (value !== undefined && !isEmptyNode(value)) continue;
    const message = `is missing; the plugin ${JSON.stringify(manifest.name)} requires it`;
    reportAt(['plugins', name, 'config', key], message);
  }
  const listed = [...required, ...optional];
  if (manifest.dialect === 'ductile' || listed.length === 0) return;
  for (const [key, { keyPlace: place }] of entriesOf(node, 'config')) {
    if (listed.includes(key)) continue;
    const message = `is not in config_keys of the plugin ${JSON.stringify(manifest.name)}${hint(key, listed, 'keys')}`;
    warnings.push({ place, path: ['plugins', name, 'config', key], message });
  }
}

function checkTimeouts({ reportAt }: InstanceBuild, name: string, manifest: Manifest, node: SourceNode): void {
  for (const [command, { value }] of entriesOf(node, 'timeouts')) {
    const path = ['plugins', name, 'timeouts', command];
    if (!manifest.commands.some(each => each.name === command))
      reportAt(path, unknownCommand(command, manifest), 'key');
    else readDuration(textOf(value), path, reportAt, { most: deadlineMax });
  }
}

/**
 * Combines a manifest with `node`, the value of `plugins.<name>`. If `node` is undefined, the instance has the settings of the manifest and
 * defaults.
 */
export function composeInstance(name: string, manifest: Manifest, node: SourceNode | undefined): PluginInstance {
  const sandbox = readSandbox(manifest, node);
  const concurrency = readConcurrency(manifest, node);
  const breaker = readBreaker(node);
  const retry = nodeAt(node, 'retry');
  const deadlineOf = (command: string): number =>
    parseDuration(textOf(node, 'timeouts', command)) ?? deadlineDefaultMs.get(command) ?? deadlineOtherMs;
  return {
    name,
    manifest,
    config: configOf(node),
    parallelism: manifest.concurrencySafe ? (numberOf(node, 'parallelism') ?? null) : 1,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(breaker === undefined ? {} : { breaker }),
    deadlineMs: Object.fromEntries(manifest.commands.map(({ name: command }) => [command, deadlineOf(command)])),
    ...(sandbox === undefined ? {} : { sandbox }),
    retry: {
      attemptsMax: numberOf(retry, 'max_attempts') ?? retryDefault.attemptsMax,
      backoffBaseMs: parseDuration(textOf(retry, 'backoff_base')) ?? retryDefault.backoffBaseMs,
      backoffMaxMs: parseDuration(textOf(retry, 'backoff_max')) ?? retryDefault.backoffMaxMs,
    },
  };
}

function readBreaker(node: SourceNode | undefined): PluginInstance['breaker'] {
  const failures = numberOf(node, 'breaker', 'failures');
  const of = numberOf(node, 'breaker', 'of');
  const forMs = parseDuration(textOf(node, 'breaker', 'for'));
  return failures === undefined || of === undefined || forMs === undefined ? undefined : { failures, of, forMs };
}

/** Reports delays that are longer than `durationMax`. */
function checkDelays({ reportAt }: InstanceBuild, name: string, node: SourceNode): void {
  for (const path of [
    ['retry', 'backoff_base'],
    ['retry', 'backoff_max'],
    ['breaker', 'for'],
  ])
    readDuration(textOf(node, ...path), ['plugins', name, ...path], reportAt, { least: '0ms' });
}

/** Reports a breaker that could never pause the plugin. */
function checkBreaker({ reportAt }: InstanceBuild, name: string, node: SourceNode): void {
  const of = numberOf(node, 'breaker', 'of');
  const failures = numberOf(node, 'breaker', 'failures');
  if (of === undefined || failures === undefined || of >= failures) return;
  const message = `is ${of}; it must be at least ${failures}, which is plugins.${name}.breaker.failures`;
  reportAt(['plugins', name, 'breaker', 'of'], message);
}

function configOf(instance: SourceNode | undefined): JsonObject {
  const config = nodeAt(instance, 'config');
  return config?.kind === 'map' ? (plainValue(config) as JsonObject) : {};
}
