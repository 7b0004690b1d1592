// Finds installed packages: the directories that a package manager put below node_modules.
import fs from 'node:fs';
import path from 'node:path';

/** @typedef {import('../../../../runtime/host/api/plugin-api.ts').Request} Request */
/** @typedef {import('../../../../runtime/host/api/plugin-api.ts').Response} Response */

/**
 * One installed package. `path` is relative to the root, with forward slashes.
 * @typedef {{ path: string, name: string, version: string | null }} InstalledPackage
 */

/**
 * Emits one event `packages.found` with `{root, packages}`; the next step starts with its payload.
 * @param {Request} request
 * @returns {Response}
 */
export function handle(request) {
  const { payload } = /** @type {{ payload: { root?: string } }} */ (request.payload);
  const root = path.resolve(payload.root ?? /** @type {string | undefined} */ (request.config['root']) ?? '.');
  if (!isDirectory(root)) {
    // A retry would not help: the job fails at once.
    return { status: 'error', error: `root: ${root} is not a directory that can be read`, retry: false };
  }
  const packages = findPackages(root);
  return {
    result: `found ${packages.length} packages under ${root}`,
    events: [{ type: 'packages.found', payload: { root, packages } }],
  };
}

/**
 * All packages under `root/node_modules`, sorted by path. A package with several paths is listed once, under the shortest one.
 * @param {string} root an absolute path
 * @returns {InstalledPackage[]}
 */
export function findPackages(root) {
  /** @type {InstalledPackage[]} */
  const found = [];
  // The real paths of the packages so far, so that cycles of links end.
  const seen = new Set([realPath(root)]);
  // Level by level, so that the shortest path of a package is found first.
  let level = [path.join(root, 'node_modules')];
  while (level.length > 0) {
    /** @type {string[]} */
    const next = [];
    for (const folder of level) {
      for (const directory of packageDirectories(folder)) {
        const real = realPath(directory);
        if (real === null || seen.has(real)) continue;
        seen.add(real);
        const named = readName(directory);
        if (named !== null) found.push({ path: toRelative(root, directory), ...named });
        next.push(path.join(directory, 'node_modules'));
      }
      next.push(...virtualStore(folder));
    }
    level = next;
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * The directories of packages directly in a node_modules folder, including those in scopes.
 * @param {string} folder
 * @returns {string[]}
 */
function packageDirectories(folder) {
  return list(folder).flatMap(entry => {
    // .bin, .cache, .package-lock.json and the like are not packages.
    if (entry.name.startsWith('.') || !mayBeDirectory(entry)) return [];
    const directory = path.join(folder, entry.name);
    if (!entry.name.startsWith('@')) return [directory];
    return list(directory)
      .filter(inner => !inner.name.startsWith('.') && mayBeDirectory(inner))
      .map(inner => path.join(directory, inner.name));
  });
}

/**
 * pnpm keeps the real packages in `.pnpm/<name>@<version>/node_modules`; the usual places hold links to them.
 * @param {string} folder
 * @returns {string[]}
 */
function virtualStore(folder) {
  const store = path.join(folder, '.pnpm');
  return list(store)
    .filter(entry => entry.isDirectory())
    .map(entry => path.join(store, entry.name, 'node_modules'));
}

/**
 * Name and version in package.json. Null: the directory has no package.json, so it is not a package. With a broken one, it is a package.
 * @param {string} directory
 * @returns {{ name: string, version: string | null } | null}
 */
function readName(directory) {
  const fallback = { name: nameByPath(directory), version: null };
  let text;
  try {
    text = fs.readFileSync(path.join(directory, 'package.json'), 'utf8');
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : fallback;
  }
  try {
    const { name, version } = JSON.parse(text.replace(/^\uFEFF/, ''));
    return {
      name: typeof name === 'string' && name !== '' ? name : fallback.name,
      version: typeof version === 'string' && version !== '' ? version : null,
    };
  } catch {
    return fallback;
  }
}

/** @param {string} directory */
function nameByPath(directory) {
  const scope = path.basename(path.dirname(directory));
  const name = path.basename(directory);
  return scope.startsWith('@') ? `${scope}/${name}` : name;
}

/**
 * @param {string} root
 * @param {string} directory
 */
function toRelative(root, directory) {
  return path.relative(root, directory).split(path.sep).join('/');
}

/** @param {fs.Dirent} entry */
function mayBeDirectory(entry) {
  return entry.isDirectory() || entry.isSymbolicLink();
}

/**
 * The entries of a directory, sorted by name; empty if it is missing or cannot be read.
 * @param {string} directory
 * @returns {fs.Dirent[]}
 */
function list(directory) {
  try {
    return fs.readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** @param {string} file */
function realPath(file) {
  try {
    return fs.realpathSync.native(file);
  } catch {
    return null; // a broken or cyclic link
  }
}

/** @param {string} file */
function isDirectory(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
