// One manifest.yaml: bytes to a checked `Manifest`, or what is wrong with it.
import { dirname, extname, resolve, sep } from 'node:path';
import type { JsonObject } from '../../runtime/packing.ts';
import type { Problem, Report } from '../check/problem.ts';
import { formatPlace } from '../check/problem.ts';
import { checkShape } from '../check/shape.ts';
import type { Command, Manifest } from '../config.ts';
import type { CompiledSchema, SchemaCompiler } from '../json-schema.ts';
import { parseDuration } from '../quantity.ts';
import { parseTree } from '../source/document.ts';
import { diskReason, type Files } from '../source/files.ts';
import {
  flagOf,
  itemsOf,
  type NodePath,
  nodeAt,
  numberOf,
  type Place,
  placesAt,
  plainValue,
  type SourceNode,
  textOf,
  textsOf,
} from '../source/tree.ts';
import { expandSchema } from './input-schema.ts';
import { manifestSchema, openManifestSchema } from './manifest-schema.ts';

export type ReadManifest = {
  /** The name it gives itself, else that of its directory. */
  readonly name: string;
  readonly namePlace: Place;
  /** Null when there are problems. */
  readonly manifest: Manifest | null;
  readonly problems: readonly Problem[];
};

/** Reads manifests with one compiler and one disk. */
export type ManifestReader = (file: string) => ReadManifest;

const workerExtensions = ['.js', '.mjs', '.ts'];
// A plugin of this name could not be told from the jobs of pipelines.
const reserved = 'pipeline';

export function makeManifestReader(disk: Files, compiler: SchemaCompiler): ManifestReader {
  const strict = compiler(manifestSchema as unknown as JsonObject, 'every');
  const open = compiler(openManifestSchema, 'every');
  return file => {
    const problems: Problem[] = [];
    const report: Report = problem => problems.push(problem);
    const directory = dirname(file);
    const start: Place = { file, line: 1, column: 1 };
    const fallbackName = directory.slice(directory.lastIndexOf(sep) + 1);
    const parsed = readTree(disk, file, report);
    if (parsed === null) return { name: fallbackName, namePlace: start, manifest: null, problems };

    const isDuctile = textOf(nodeAt(parsed, 'manifest_spec')) === 'ductile.plugin';
    const schema = isDuctile ? openManifestSchema : (manifestSchema as unknown as JsonObject);
    const root = checkShape(parsed, schema, isDuctile ? open : strict, report);
    const name = textOf(nodeAt(root, 'name')) ?? fallbackName;
    const namePlace = placesAt(root, ['name']).value;
    if (name === reserved) {
      report({
        place: namePlace,
        path: ['name'],
        message: `is reserved for the jobs of pipelines; choose another name`,
      });
    }
    const dialect = isDuctile ? 'ductile' : 'headgate';
    const commands = readCommands(root, dialect, compiler, report);
    const place = readEntrypoint(root, directory, dialect, disk, report);
    if (problems.length > 0 || place === null) return { name, namePlace, manifest: null, problems };
    return { name, namePlace, manifest: compose(root, name, dialect, commands, place), problems };
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

type Entrypoint = { readonly directory: string; readonly entrypoint: string; readonly runtime: 'worker' | 'process' };

/** The file that runs, links resolved; refused outside of the plugin's directory. */
function readEntrypoint(
  root: SourceNode,
  directory: string,
  dialect: Manifest['dialect'],
  disk: Files,
  report: Report,
): Entrypoint | null {
  const node = nodeAt(root, 'entrypoint');
  const text = textOf(node);
  if (node === undefined || text === undefined || text === '') return null;
  const refuse = (message: string): null => {
    report({ place: node.place, path: ['entrypoint'], message });
    return null;
  };
  const path = resolve(directory, text);
  const kind = disk.kind(path);
  if (kind === 'missing') return refuse(`${path} does not exist; it must be a file in the plugin's directory`);
  const home = disk.realpath(directory);
  const real = disk.realpath(path);
  if (!real.startsWith(home + sep)) return refuse(`leads to ${real}; it must lie inside ${home}`);
  if (kind !== 'file') return refuse(`${path} is not a file; it must be a file in the plugin's directory`);
  const given = dialect === 'ductile' ? 'process' : textOf(nodeAt(root, 'runtime'));
  const usual = workerExtensions.includes(extname(text)) ? 'worker' : 'process';
  const runtime = given === 'worker' || given === 'process' ? given : usual;
  if (runtime === 'process' && !disk.isExecutable(real))
    return refuse(`${real} is not executable; chmod +x makes it so`);
  return { directory: home, entrypoint: real, runtime };
}

function readCommands(
  root: SourceNode,
  dialect: Manifest['dialect'],
  compiler: SchemaCompiler,
  report: Report,
): Command[] {
  const seen = new Map<string, Place>();
  return itemsOf(nodeAt(root, 'commands')).map((node, index) => {
    const name = textOf(nodeAt(node, 'name')) ?? '';
    const place = placesAt(node, ['name']).value;
    const before = seen.get(name);
    if (before !== undefined && name !== '') {
      const message = `${JSON.stringify(name)} is already a command at ${formatPlace(before)}; name each command once`;
      report({ place, path: ['commands', index, 'name'], message });
    }
    seen.set(name, before ?? place);
    const schemaOf = (key: string) => readSchema(root, ['commands', index, key], dialect, compiler, report);
    return {
      name,
      type: textOf(nodeAt(node, 'type')) === 'read' ? 'read' : 'write',
      description: textOf(nodeAt(node, 'description')) ?? null,
      inputSchema: schemaOf('input_schema'),
      outputSchema: schemaOf('output_schema'),
      idempotent: flagOf(nodeAt(node, 'idempotent')) ?? false,
      retrySafe: flagOf(nodeAt(node, 'retry_safe')) ?? true,
      consume: textsOf(nodeAt(node, 'values', 'consume')),
      emit: itemsOf(nodeAt(node, 'values', 'emit')).map(item => ({
        event: textOf(nodeAt(item, 'event')) ?? '',
        values: textsOf(nodeAt(item, 'values')),
      })),
    };
  });
}

function readSchema(
  root: SourceNode,
  path: NodePath,
  dialect: Manifest['dialect'],
  compiler: SchemaCompiler,
  report: Report,
): JsonObject | null {
  const node = nodeAt(root, ...path);
  if (node?.kind !== 'map') return null;
  const expanded = expandSchema(plainValue(node) as JsonObject, dialect);
  if (!expanded.ok) {
    const keyPath = [...path, expanded.key];
    report({ place: placesAt(root, keyPath).value, path: keyPath, message: expanded.message });
    return null;
  }
  const compiled: CompiledSchema = compiler(expanded.schema, 'first');
  if (compiled.ok) return expanded.schema;
  report({ place: node.place, path, message: `is not a JSON Schema that can be used: ${compiled.message}` });
  return null;
}

function compose(
  root: SourceNode,
  name: string,
  dialect: Manifest['dialect'],
  commands: readonly Command[],
  place: Entrypoint,
): Manifest {
  const version = nodeAt(root, 'version');
  const isPersistent = place.runtime === 'process' && textOf(nodeAt(root, 'mode')) === 'persistent';
  const persistent = {
    jobsMax: numberOf(nodeAt(root, 'max_jobs')) ?? null,
    ageMs: parseDuration(textOf(nodeAt(root, 'max_age'))) ?? null,
  };
  return {
    name,
    // `version: 1.0` is a number to YAML; what counts is how it is written.
    version: textOf(version) ?? (version?.kind === 'scalar' ? version.written : ''),
    protocol: numberOf(nodeAt(root, 'protocol')) ?? 2,
    description: textOf(nodeAt(root, 'description')) ?? '',
    dialect,
    ...place,
    concurrencySafe: flagOf(nodeAt(root, 'concurrency_safe')) ?? true,
    commands,
    configKeys: {
      required: textsOf(nodeAt(root, 'config_keys', 'required')),
      optional: textsOf(nodeAt(root, 'config_keys', 'optional')),
    },
    ...(isPersistent ? { persistent } : {}),
  };
}
