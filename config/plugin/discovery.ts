// Searches the plugin roots for manifests. Broken ones are kept apart: they stop nothing unless something names them.
import { dirname, join } from 'node:path';
import { type ConfigProblem, formatPlace, type Report } from '../check/problem.ts';
import type { Manifest } from '../config.ts';
import { diskReason, type Files } from '../source/files.ts';
import type { NodePath, SourceLocation } from '../source/tree.ts';
import type { ManifestReader } from './manifest.ts';

const depthMax = 32;
// A root that was meant to be another one (`/`, a home) is told, not searched for minutes.
const directoriesMax = 20_000;

export type PluginRoot = {
  /** Absolute. */
  readonly directory: string;
  readonly place: SourceLocation;
  readonly path: NodePath;
  /** Not named by the configuration: may be missing. */
  readonly isDefault: boolean;
  /** What comes with headgate: a plugin of it is off until something names it. */
  readonly isBundled: boolean;
};

export type BrokenPlugin = { readonly name: string; readonly problems: readonly ConfigProblem[] };
/** Where a plugin lies, sound or broken: its directory, and the root under which it was found; absolute, links not resolved. */
export type PluginPlace = { readonly directory: string; readonly root: string };
export type Discovery = {
  readonly manifests: ReadonlyMap<string, Manifest>;
  readonly broken: readonly BrokenPlugin[];
  /** Names of bundled plugins, and the root that offers them. */
  readonly bundled: ReadonlyMap<string, PluginRoot>;
  readonly places: readonly PluginPlace[];
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
  const found: PluginPlace[] = [];
  const visited = new Set<string>();
  for (const root of roots) {
    for (const file of manifestsUnder(root, disk, visited, report)) {
      found.push({ directory: dirname(file), root: root.directory });
      const { name, namePlace, manifest, problems } = readManifest(file);
      const before = places.get(name);
      if (manifest === null) {
        broken.push({ name, problems });
      } else if (before !== undefined) {
        const message = `${JSON.stringify(name)} is also the name of the plugin at ${formatPlace(before)}; give one of them another name`;
        report({ place: namePlace, path: ['name'], message });
      } else {
        places.set(name, namePlace);
        manifests.set(name, manifest);
        if (root.isBundled) bundled.set(name, root);
      }
    }
  }
  return { manifests, broken, bundled, places: found };
}

/** What lies inside a plugin's directory belongs to the plugin and is not searched. */
function manifestsUnder(root: PluginRoot, disk: Files, visited: Set<string>, report: Report): string[] {
  const kind = disk.kind(root.directory);
  if (kind === 'missing' && root.isDefault) return [];
  if (kind !== 'directory') {
    const wrong = kind === 'missing' ? 'does not exist' : 'is not a directory';
    const message = `${root.directory} ${wrong}; it must be a directory of plugins`;
    report({ place: root.place, path: root.path, message });
    return [];
  }
  const found: string[] = [];
  const search = (directory: string, depth: number): void => {
    try {
      const real = disk.realpath(directory);
      if (visited.has(real) || depth > depthMax) return;
      visited.add(real);
      if (visited.size === directoriesMax) {
        const message = `${root.directory} holds more than ${directoriesMax} directories; name the directory of the plugins`;
        report({ place: root.place, path: root.path, message });
      }
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
      const message = `${directory} cannot be searched for plugins (${diskReason(error)})`;
      report({ place: root.place, path: root.path, message });
    }
  };
  search(root.directory, 0);
  return found;
}
