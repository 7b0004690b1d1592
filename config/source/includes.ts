// Reads the main file and every file that it includes, directly or through others. Each file is read once.
import { basename, dirname, join, resolve } from 'node:path';
import { formatPlace, type Report } from '../check/problem.ts';
import { parseTree } from './document.ts';
import { diskReason, type Files } from './files.ts';
import { type Environment, interpolateTree } from './interpolation.ts';
import { mergeTrees } from './merge.ts';
import {
  describeKind,
  emptyMap,
  isEmptyNode,
  type MapNode,
  type NodePath,
  nodeAt,
  type SourceLocation,
  type SourceNode,
  textOf,
} from './tree.ts';

export type Closure = {
  /** The absolute paths of the files, in the order of reading. */
  readonly files: readonly string[];
  /** The content of all files, merged, with variables replaced and without `include`. */
  readonly merged: SourceNode;
};

type ClosureReading = {
  readonly disk: Files;
  readonly env: Environment;
  readonly report: Report;
  readonly files: string[];
  readonly documents: MapNode[];
  /** The location of the first `include` entry for each file, by the real path of the file. */
  readonly named: Map<string, SourceLocation>;
};

type IncludeSite = { readonly place: SourceLocation; readonly path: NodePath; readonly chain: readonly string[] };

export function readClosure(mainFile: string, disk: Files, env: Environment, report: Report): Closure {
  const reading: ClosureReading = { disk, env, report, files: [], documents: [], named: new Map() };
  const place: SourceLocation = { file: mainFile, line: 1, column: 1 };
  readOne(reading, mainFile, { place, path: [], chain: [] });
  const merged = reading.documents.reduce<SourceNode>((all, next) => mergeTrees(all, next, report), emptyMap(place));
  return { files: reading.files, merged };
}

function readOne(reading: ClosureReading, file: string, site: IncludeSite): void {
  const { disk, env, report } = reading;
  const chain = [...site.chain, file];
  let bytes: Uint8Array;
  try {
    const real = disk.realpath(file);
    if (!admit(reading, real, file, site)) return;
    reading.files.push(file);
    bytes = disk.read(file);
  } catch (error) {
    const message = `${file} cannot be read (${diskReason(error)})${chainNote(chain)}`;
    report({ ...site, message });
    return;
  }
  const parsed = parseTree(file, bytes);
  for (const problem of parsed.problems) report(problem);
  const start: SourceLocation = { file, line: 1, column: 1 };
  const root = parsed.root === null || isEmptyNode(parsed.root) ? emptyMap(start) : parsed.root;
  if (root.kind !== 'map') {
    const message = `is ${describeKind(root)}; a configuration file must be a map of settings`;
    report({ place: root.place, path: [], message });
    return;
  }
  const map = interpolateTree(root, env, report) as MapNode;
  const entries = new Map(map.entries);
  entries.delete('include');
  reading.documents.push({ ...map, entries });
  readIncludes(reading, map, file, chain);
}

function readIncludes(reading: ClosureReading, map: MapNode, file: string, chain: readonly string[]): void {
  const include = nodeAt(map, 'include');
  if (include === undefined || isEmptyNode(include)) return;
  if (include.kind !== 'list') {
    const message = `is ${describeKind(include)}; it must be a list of files and directories, such as [api.yaml, pipelines]`;
    reading.report({ place: include.place, path: ['include'], message });
    return;
  }
  for (const [index, item] of include.items.entries()) {
    const site: IncludeSite = { place: item.place, path: ['include', index], chain };
    const text = textOf(item);
    if (text === undefined || text === '') {
      reading.report({ ...site, message: `is ${describeKind(item)}; it must be the path of a file or directory` });
    } else {
      readPath(reading, resolve(dirname(file), text), site);
    }
  }
}

function readPath(reading: ClosureReading, path: string, site: IncludeSite): void {
  const kind = reading.disk.kind(path);
  if (kind === 'directory') {
    for (const file of yamlFiles(reading, path, site)) readPath(reading, file, site);
  } else if (kind === 'file') {
    readOne(reading, path, site);
  } else {
    const wrong = kind === 'missing' ? 'does not exist' : 'is neither a file nor a directory';
    reading.report({ ...site, message: `${path} ${wrong}${chainNote([...site.chain, path])}` });
  }
}

/** The YAML files of a directory, including broken links, which the caller reports as missing. */
function yamlFiles(reading: ClosureReading, directory: string, site: IncludeSite): string[] {
  try {
    return reading.disk
      .list(directory)
      .filter(name => name.endsWith('.yaml') && !name.startsWith('.'))
      .map(name => join(directory, name))
      .filter(file => ['file', 'missing'].includes(reading.disk.kind(file)));
  } catch (error) {
    reading.report({ ...site, message: `${directory} cannot be listed (${diskReason(error)})` });
    return [];
  }
}

/** Whether the file is to be read. Reports a file that includes itself or is included twice. */
function admit(reading: ClosureReading, real: string, file: string, site: IncludeSite): boolean {
  const before = reading.named.get(real);
  reading.named.set(real, before ?? site.place);
  if (before === undefined) return true;
  const isCycle = site.chain.some(link => reading.disk.realpath(link) === real);
  const message = isCycle
    ? `includes itself: ${[...site.chain, file].join(' -> ')}; remove one of these includes`
    : `${file} is included twice, first at ${formatPlace(before)}${chainNote([...site.chain, file])}; include it once`;
  reading.report({ ...site, message });
  return false;
}

function chainNote(chain: readonly string[]): string {
  return chain.length < 2 ? '' : ` (${chain.map(file => basename(file)).join(' -> ')})`;
}
