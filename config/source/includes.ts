// The include closure: the main file and every file that it pulls in, each read once, in the order of reading.
import { basename, dirname, join, resolve } from 'node:path';
import type { Report } from '../check/problem.ts';
import { formatPlace } from '../check/problem.ts';
import { parseTree } from './document.ts';
import { diskReason, type Files } from './files.ts';
import { type Environment, interpolateTree } from './interpolation.ts';
import {
  describeKind,
  emptyMap,
  isEmptyNode,
  type MapNode,
  type NodePath,
  nodeAt,
  type SourceLocation,
  textOf,
} from './tree.ts';

export type Closure = {
  /** Absolute paths, in the order of reading. */
  readonly files: readonly string[];
  /** What each of them says, variables replaced; `include` is left out. */
  readonly documents: readonly MapNode[];
};

type ClosureReading = {
  readonly disk: Files;
  readonly env: Environment;
  readonly report: Report;
  readonly files: string[];
  readonly documents: MapNode[];
  /** Real path -> where it was named first. */
  readonly named: Map<string, SourceLocation>;
};

type IncludeSite = { readonly place: SourceLocation; readonly path: NodePath; readonly chain: readonly string[] };

export function readClosure(mainFile: string, disk: Files, env: Environment, report: Report): Closure {
  const reading: ClosureReading = { disk, env, report, files: [], documents: [], named: new Map() };
  const place: SourceLocation = { file: mainFile, line: 1, column: 1 };
  readOne(reading, mainFile, { place, path: [], chain: [] });
  return { files: reading.files, documents: reading.documents };
}

function readOne(reading: ClosureReading, file: string, naming: IncludeSite): void {
  const { disk, env, report } = reading;
  const chain = [...naming.chain, file];
  let bytes: Uint8Array;
  try {
    const real = disk.realpath(file);
    if (!admit(reading, real, file, naming)) return;
    reading.files.push(file);
    bytes = disk.read(file);
  } catch (error) {
    const message = `${file} cannot be read (${diskReason(error)})${chainNote(chain)}`;
    report({ place: naming.place, path: naming.path, message });
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
    const message = 'must be a list of files and directories, such as [api.yaml, pipelines]';
    reading.report({ place: include.place, path: ['include'], message });
    return;
  }
  for (const [index, item] of include.items.entries()) {
    const naming: IncludeSite = { place: item.place, path: ['include', index], chain };
    const text = textOf(item);
    if (text === undefined || text === '') {
      reading.report({ ...naming, message: 'must be the path of a file or directory' });
    } else {
      readPath(reading, resolve(dirname(file), text), naming);
    }
  }
}

function readPath(reading: ClosureReading, path: string, naming: IncludeSite): void {
  const kind = reading.disk.kind(path);
  if (kind === 'directory') {
    for (const file of yamlFiles(reading, path, naming)) readPath(reading, file, naming);
  } else if (kind === 'file') {
    readOne(reading, path, naming);
  } else {
    const wrong = kind === 'missing' ? 'does not exist' : 'is neither a file nor a directory';
    reading.report({ ...naming, message: `${path} ${wrong}${chainNote([...naming.chain, path])}` });
  }
}

/** Links that lead nowhere are among them: what was to be read there is missed. */
function yamlFiles(reading: ClosureReading, directory: string, naming: IncludeSite): string[] {
  try {
    return [...reading.disk.list(directory)]
      .filter(name => name.endsWith('.yaml') && !name.startsWith('.'))
      .sort()
      .map(name => join(directory, name))
      .filter(file => ['file', 'missing'].includes(reading.disk.kind(file)));
  } catch (error) {
    reading.report({ ...naming, message: `${directory} cannot be listed (${diskReason(error)})` });
    return [];
  }
}

/** False, and said, when the file is in the closure already: by a cycle, or named a second time. */
function admit(reading: ClosureReading, real: string, file: string, naming: IncludeSite): boolean {
  const before = reading.named.get(real);
  reading.named.set(real, before ?? naming.place);
  if (before === undefined) return true;
  const isCycle = naming.chain.some(link => reading.disk.realpath(link) === real);
  const message = isCycle
    ? `includes itself: ${[...naming.chain, file].join(' -> ')}; take one of these out`
    : `${file} is named twice, first at ${formatPlace(before)}${chainNote([...naming.chain, file])}; name it once`;
  reading.report({ place: naming.place, path: naming.path, message });
  return false;
}

function chainNote(chain: readonly string[]): string {
  return chain.length < 2 ? '' : ` (${chain.map(file => basename(file)).join(' -> ')})`;
}
