// Reads one manifest.yaml: returns a checked `Manifest`, or its problems.
import { dirname, sep } from 'node:path';
import type { SchemaCompiler } from '../../runtime/json-schema.ts';
import type { SandboxKind } from '../../runtime/processes/sandbox.ts';
import { type ConfigProblem, type Report, reportIn } from '../check/problem.ts';
import { checkShape } from '../check/shape.ts';
import type { Command, Manifest } from '../config.ts';
import { parseDuration } from '../quantity.ts';
import { parseTree } from '../source/document.ts';
import { diskReason, type Files } from '../source/files.ts';
import {
  flagOf,
  nodeAt,
  numberOf,
  placesAt,
  type SourceLocation,
  type SourceNode,
  textOf,
  textsOf,
} from '../source/tree.ts';
import { readCommands } from './command.ts';
import { checkCommands } from './concurrency.ts';
import { type Entrypoint, readEntrypoint } from './entrypoint.ts';
import { manifestSchema, openManifestSchema } from './manifest-schema.ts';

export type ReadManifest = {
  /** The name in the manifest, else the name of the directory. */
  readonly name: string;
  readonly namePlace: SourceLocation;
  /** The manifest; null if there are problems. */
  readonly manifest: Manifest | null;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
};

/** The message for settings that a worker plugin cannot have. */
export const workerMessage = 'is only for process plugins; a worker plugin runs in a thread';

export type ManifestReader = (file: string) => ReadManifest;

/**
 * Names that no plugin can have: pipeline runs have the plugin name `pipeline`, and jobs of the service itself have the plugin name
 * `headgate`.
 */
const reservedNames: readonly string[] = ['pipeline', 'headgate'];
export const reservedMessage = 'is reserved for jobs of the service itself; choose another name';

export function isReserved(name: string): boolean {
  return reservedNames.includes(name);
}

export function makeManifestReader(disk: Files, compiler: SchemaCompiler): ManifestReader {
  return file => {
    const problems: ConfigProblem[] = [];
    const warnings: ConfigProblem[] = [];
    const report: Report = problem => problems.push(problem);
    const directory = dirname(file);
    const start: SourceLocation = { file, line: 1, column: 1 };
    const fallbackName = directory.slice(directory.lastIndexOf(sep) + 1);
    const parsed = readTree(disk, file, report);
    if (parsed === null) return { name: fallbackName, namePlace: start, manifest: null, problems, warnings };

    const dialect = textOf(parsed, 'manifest_spec') === 'ductile.plugin' ? 'ductile' : 'headgate';
    const schema = dialect === 'ductile' ? openManifestSchema : manifestSchema;
    const root = checkShape(parsed, schema, report);
    const reportAt = reportIn(root, report);
    const name = textOf(root, 'name') ?? fallbackName;
    const namePlace = placesAt(root, ['name']).value;
    if (isReserved(name)) reportAt(['name'], reservedMessage);
    const commands = readCommands(root, dialect, compiler, reportAt);
    const warnAt = reportIn(root, warning => warnings.push(warning));
    const place = readEntrypoint(root, directory, dialect, disk, reportAt, warnAt);
    if (place?.runtime === 'worker') {
      if (sandboxOf(root) !== 'none') reportAt(['sandbox'], workerMessage);
      if (nodeAt(root, 'mode') !== undefined) reportAt(['mode'], workerMessage);
    }
    if (problems.length > 0 || place === null) return { name, namePlace, manifest: null, problems, warnings };
    const manifest = compose(root, name, dialect, commands, place);
    checkCommands(manifest, reportAt);
    return { name, namePlace, manifest: problems.length > 0 ? null : manifest, problems, warnings };
  };
}

function readTree(disk: Files, file: string, report: Report): SourceNode | null {
  let bytes: Uint8Array;
  try {
    bytes = disk.read(file);
  } catch (error) {
    report({ place: { file, line: 1, column: 1 }, path: [], message: `cannot be read (${diskReason(error)})` });
    return null;
  }
  const parsed = parseTree(file, bytes);
  for (const problem of parsed.problems) report(problem);
  if (parsed.problems.length > 0) return null;
  if (parsed.root?.kind === 'map') return parsed.root;
  report({
    place: { file, line: 1, column: 1 },
    path: [],
    message: 'is not a map; a manifest must be a map of settings',
  });
  return null;
}

export function sandboxOf(node: SourceNode | undefined): SandboxKind {
  return (textOf(node, 'sandbox') as SandboxKind | undefined) ?? 'none';
}

function compose(
  root: SourceNode,
  name: string,
  dialect: Manifest['dialect'],
  commands: readonly Command[],
  place: Entrypoint,
): Manifest {
  const version = nodeAt(root, 'version');
  const isPersistent = dialect === 'headgate' && place.runtime === 'process' && textOf(root, 'mode') === 'persistent';
  const sandbox = sandboxOf(root);
  const persistent = {
    jobsMax: numberOf(root, 'max_jobs') ?? null,
    ageMs: parseDuration(textOf(root, 'max_age')) ?? null,
    ...(flagOf(root, 'cancel') === true && { hearsCancel: true }),
  };
  return {
    name,
    // `version: 1.0` is a number in YAML; the text as written is used.
    version: textOf(version) ?? (version?.kind === 'scalar' ? version.written : ''),
    protocol: numberOf(root, 'protocol') ?? 2,
    description: textOf(root, 'description') ?? '',
    dialect,
    ...place,
    concurrencySafe: flagOf(root, 'concurrency_safe') ?? true,
    commands,
    configKeys: {
      required: textsOf(root, 'config_keys', 'required'),
      optional: textsOf(root, 'config_keys', 'optional'),
    },
    ...(sandbox === 'none' ? {} : { sandbox }),
    ...(isPersistent ? { persistent } : {}),
  };
}
