// Hides files and directories from a program in bubblewrap: the directory of each hidden entry is shown without it, with the other entries
// that it has when the program starts.
//
// A mount over the hidden entry itself would not last: the kernel removes it when the entry is replaced. It also needs an entry that exists.
import { type Dirent, existsSync, readdirSync, readlinkSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { linkAt } from './identity.ts';

/** A directory that the program sees. `real`: its path on this machine, with links resolved. `shown`: its path in the sandbox. */
export type ShownDirectory = { readonly real: string; readonly shown: string };

/** An entry of a directory. `isHidden`: false for a link on the way to a hidden entry. */
type Entry = { readonly directory: string; readonly name: string; readonly isHidden: boolean };

/** How many other entries are shown at most, without links, which are no mounts. bubblewrap takes about a second for 300 mounts. */
const othersMax = 200;
/** The kernel follows as many links in a path. */
const linksMax = 40;

/**
 * The bubblewrap arguments that hide the paths, whether they exist or not. Only paths in `places` and in the plugin's directory `own` need
 * them. `before`: the arguments for directories that contain `own`, which must be mounted after these. Throws if there are too many other
 * entries.
 */
export function hidingArguments(
  paths: readonly string[],
  places: readonly ShownDirectory[],
  own: ShownDirectory | null,
): { before: string[]; after: string[] } {
  const filtered = new Map<string, { readonly real: string; readonly hidden: Set<string> }>();
  for (const { directory, name, isHidden } of paths.flatMap(entriesTo)) {
    for (const { real, shown } of own === null ? places : [...places, own]) {
      if (!isWithin(directory, real)) continue;
      const path = shown + directory.slice(real.length);
      const { hidden } = filtered.get(path) ?? filtered.set(path, { real: directory, hidden: new Set() }).get(path)!;
      if (isHidden) hidden.add(name);
    }
  }
  const hiddenPaths = [...filtered].flatMap(([path, { hidden }]) => [...hidden].map(name => join(path, name)));
  const isOutOfSight = (path: string): boolean => {
    // The plugin's directory is mounted over a hidden directory that contains it.
    const counts = (hidden: string) => own === null || !isWithin(path, own.shown) || isBelow(hidden, own.shown);
    return hiddenPaths.some(hidden => isWithin(path, hidden) && counts(hidden));
  };

  const before: string[] = [];
  const after: string[] = [];
  const readOnly: string[] = [];
  // In sorted order, an outer directory comes before the directories inside it.
  for (const [path, { real, hidden }] of [...filtered].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (isOutOfSight(path)) continue;
    const containsOwn = own !== null && (isBelow(own.shown, path) || isBelow(own.real, path));
    (containsOwn ? before : after).push('--tmpfs', path, ...showOthers(real, path, hidden));
    readOnly.push('--remount-ro', path);
  }
  const others = [...before, ...after].filter(word => word === '--ro-bind-try').length;
  if (others > othersMax) {
    const directories = readOnly.filter(word => word !== '--remount-ro').join(', ');
    throw new Error(
      `more than ${othersMax} files and directories are beside what is hidden from plugins, in ${directories}; keep keys, state, backups and configuration in a directory of their own`,
    );
  }
  // The path of the plugin's directory can be a link to a place that is hidden.
  if (before.length > 0) before.push('--dir', own!.real);
  return { before, after: [...after, ...readOnly] };
}

/**
 * The entry at the path, and the links on the way to it. An entry that does not exist is the first missing one: whatever replaces a link or
 * appears later is in one of these directories.
 */
function entriesTo(path: string): Entry[] {
  const entries: Entry[] = [];
  const rest = path.split('/');
  let here = '/';
  while (rest.length > 0 && entries.length <= linksMax) {
    const name = rest.shift()!;
    const next = join(here, name);
    const target = linkAt(next);
    if (target !== null) {
      entries.push({ directory: here, name, isHidden: false });
      rest.unshift(...target.split('/'));
      if (isAbsolute(target)) here = '/';
    } else {
      here = next;
      if (!existsSync(next)) break;
    }
  }
  return [...entries, { directory: dirname(here), name: basename(here), isHidden: true }];
}

/** The arguments that show the directory `real` at `path`, without the entries in `hidden`. A directory that cannot be listed is shown empty. */
function showOthers(real: string, path: string, hidden: ReadonlySet<string>): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(real, { withFileTypes: true });
  } catch {
    return [];
  }
  return entries.flatMap(entry => {
    if (hidden.has(entry.name)) return [];
    const [source, target] = [join(real, entry.name), join(path, entry.name)];
    return entry.isSymbolicLink() ? ['--symlink', readlinkSync(source), target] : ['--ro-bind-try', source, target];
  });
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || isBelow(path, directory);
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}
