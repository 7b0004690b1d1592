// Measures the size of a package on disk. Links in it are counted as links, and not followed.
import fs from 'node:fs';
import path from 'node:path';

/**
 * @typedef {object} Footprint
 * @property {{ files: number, bytes: number }} size
 * @property {{ files: number, bytes: number }} binaries prebuilt addons: *.node
 * @property {string[]} vendored packages in node_modules folders further down, as paths inside the package
 * @property {string[]} names the files directly in the package, sorted
 */

/**
 * Measures a package without its own node_modules folder, whose packages are inspected separately.
 * @param {string} directory
 * @param {string[]} problems
 * @returns {Footprint}
 */
export function measure(directory, problems) {
  const size = { files: 0, bytes: 0 };
  const binaries = { files: 0, bytes: 0 };
  /** @type {string[]} */
  const vendored = [];
  /** @type {string[]} */
  const names = [];
  const pending = [''];
  for (let inner = pending.pop(); inner !== undefined; inner = pending.pop()) {
    for (const entry of list(directory, inner, problems)) {
      const below = inner === '' ? entry.name : `${inner}/${entry.name}`;
      if (entry.isDirectory()) {
        if (below === 'node_modules') continue;
        pending.push(below);
        if (entry.name === 'node_modules') vendored.push(...packagesIn(directory, below, problems));
        continue;
      }
      if (inner === '') names.push(entry.name);
      const bytes = fs.lstatSync(path.join(directory, below), { throwIfNoEntry: false })?.size ?? 0;
      size.files++;
      size.bytes += bytes;
      if (entry.name.endsWith('.node')) {
        binaries.files++;
        binaries.bytes += bytes;
      }
    }
  }
  return { size, binaries, vendored: vendored.sort(), names: names.sort() };
}

/**
 * @param {string} directory
 * @param {string} folder
 * @param {string[]} problems
 */
function packagesIn(directory, folder, problems) {
  return list(directory, folder, problems).flatMap(entry => {
    const { name } = entry;
    if (!entry.isDirectory() || name.startsWith('.')) return [];
    const below = `${folder}/${name}`;
    return name.startsWith('@') ? list(directory, below, problems).map(inner => `${below}/${inner.name}`) : [below];
  });
}

/**
 * @param {string} directory
 * @param {string} inner
 * @param {string[]} problems
 * @returns {fs.Dirent[]}
 */
function list(directory, inner, problems) {
  try {
    return fs.readdirSync(path.join(directory, inner), { withFileTypes: true });
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    problems.push(`${inner === '' ? 'the package' : inner} cannot be listed (${code})`);
    return [];
  }
}
