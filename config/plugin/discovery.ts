// Searches the plugin roots for manifests. Invalid manifests are collected separately: they are errors only if the configuration
// uses their plugins.
import { dirname, join } from 'node:path';
import { type ConfigProblem, formatPlace, type Report } from '../check/problem.ts';
import type { Manifest } from '../config.ts';
import { diskReason, type Files } from '../source/files.ts';
import type { NodePath, SourceLocation } from '../source/tree.ts';
import type { ManifestReader } from './manifest.ts';

const depthMax = 32;
// The search ends at this number of directories, over all roots. A root with this many directories is probably a mistake,
// such as `/` or a home directory.
const directoriesMax = 20_000;

export type PluginRoot = {
  /** The absolute path of the root. */
  readonly directory: string;
  readonly place: SourceLocation;
  readonly path: NodePath;
  /** Whether this is the default root, which may be missing. */
  readonly isDefault: boolean;
  /** Whether this is the root of the plugins that come with headgate. Each of them is off until `plugins` names it. */
  readonly isBundled: boolean;
};

export type BrokenPlugin = { readonly name: string; readonly problems: readonly ConfigProblem[] };
/** The directory of a plugin, valid or not, and the root in which it was found: absolute paths, links not resolved. */
export type PluginDirectory = { readonly directory: string; readonly root: string };
export type Discovery = {
  readonly manifests: ReadonlyMap<string, Manifest>;
  readonly broken: readonly BrokenPlugin[];
  /** The root that contains each bundled plugin, by the plugin's name. */
  readonly bundled: ReadonlyMap<string, PluginRoot>;
  readonly places: readonly PluginDirectory[];
  /** Warnings about the manifests of usable plugins. */
  readonly warnings: readonly ConfigProblem[];
};

export function discoverPlugins(
  roots: readonly PluginRoot[],
  disk: Files,
  readManifest: ManifestReader,
  report: Report,
): Discovery {
  const manifests = new Map<string, Manifest>();
  const places = new Map<string, SourceLocation>();
  const broken: BrokenPlugin[] = [];
  const bundled = new Map<string, PluginRoot>();
  const found: PluginDirectory[] = [];
  const warned: ConfigProblem[] = [];
  const visited = new Set<string>();
  for (const root of roots) {
    for (const file of manifestsUnder(root, disk, visited, report)) {
      found.push({ directory: dirname(file), root: root.directory });
      const { name, namePlace, manifest, problems, warnings } = readManifest(file);
      const before = places.get(name);
      if (manifest === null) {
        broken.push({ name, problems });
      } else if (before !== undefined) {
        const message = `${JSON.stringify(name)} is already the name of the plugin at ${formatPlace(before)}; it must be unique`;
        report({ place: namePlace, path: ['name'], message });
      } else {
        places.set(name, namePlace);
        manifests.set(name, manifest);
        warned.push(...warnings);
        if (root.isBundled) bundled.set(name, root);
      }
    }
  }
  return { manifests, broken, bundled, places: found, warnings: warned };
}

/** The manifests under a root. The directory of a plugin is not searched for further plugins. */
function manifestsUnder(root: PluginRoot, disk: Files, visited: Set<string>, report: Report): string[] {
  const refuse = (message: string) => report({ place: root.place, path: root.path, message });
  const kind = disk.kind(root.directory);
  if (kind === 'missing' && root.isDefault) return [];
  if (kind !== 'directory') {
    const wrong = kind === 'missing' ? 'does not exist' : 'is not a directory';
    refuse(`${root.directory} ${wrong}; it must be a directory of plugins`);
    return [];
  }
  const found: string[] = [];
  const search = (directory: string, depth: number): void => {
    try {
      const real = disk.realpath(directory);
      if (visited.has(real) || depth > depthMax) return;
      visited.add(real);
      if (visited.size === directoriesMax)
        refuse(
          `the plugin roots up to ${root.directory} contain ${directoriesMax} directories, the most that are searched; a root must be a directory of plugins`,
        );
      if (visited.size >= directoriesMax) return;
      const names = disk.list(directory);
      if (names.includes('manifest.yaml')) {
        found.push(join(directory, 'manifest.yaml'));
        return;
      }
      const inner = names.filter(name => name !== 'node_modules' && !name.startsWith('.'));
      for (const name of inner) {
        const path = join(directory, name);
        if (disk.kind(path) === 'directory') search(path, depth + 1);
      }
    } catch (error) {
      refuse(`${directory} cannot be searched for plugins (${diskReason(error)})`);
    }
  };
  search(root.directory, 0);
  return found;
}
