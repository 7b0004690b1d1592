// A directory below the root, held open while something is done in it, so that no link and no rename can lead elsewhere.
import fs from 'node:fs';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = fs.constants;
/** Where an open directory can be named by its descriptor, names in it are looked up in just that directory. */
const hasDescriptors = fs.existsSync('/proc/self/fd');

/** An open directory; `close` it. */
export class Directory {
  /** @readonly */
  fd;
  #path;

  /** @param {number} fd @param {string} path */
  constructor(fd, path) {
    this.fd = fd;
    this.#path = path;
  }

  /** The path of an entry of this directory, or of itself. @param {string} [name] a name without a slash */
  at(name) {
    const self = hasDescriptors ? `/proc/self/fd/${this.fd}` : this.#path;
    return name === undefined ? self : `${self}/${name}`;
  }

  /** @param {string} name */
  enter(name) {
    const fd = fs.openSync(this.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    return new Directory(fd, `${this.#path}/${name}`);
  }

  close() {
    fs.closeSync(this.fd);
  }
}

/**
 * Opens the directory that `names` lead to, one by one and through no link; calls `use` with it, and closes it.
 * @template T
 * @param {string} root links in it are followed: it is the operator's
 * @param {readonly string[]} names
 * @param {{ readonly make: boolean }} options `make`: missing directories are made
 * @param {(directory: Directory) => T} use
 * @returns {T}
 */
export function within(root, names, { make }, use) {
  let directory = new Directory(fs.openSync(root, O_RDONLY | O_DIRECTORY), root);
  try {
    for (const name of names) {
      if (make) makeDirectory(directory.at(name));
      const inner = directory.enter(name);
      directory.close();
      directory = inner;
    }
    return use(directory);
  } finally {
    directory.close();
  }
}

/** @param {string} path */
function makeDirectory(path) {
  try {
    fs.mkdirSync(path, 0o755);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
}

/**
 * The names on the way of a path. Throws an error that is not retried for one that could lead elsewhere.
 * @param {string} path
 * @returns {string[]}
 */
export function namesOf(path) {
  const names = path.split('/');
  const isFit = names.every(name => name !== '' && name !== '.' && name !== '..' && !name.includes('\0'));
  if (isFit) return names;
  throw refusal(`${JSON.stringify(path)} is not a path below the root: relative, without empty parts, "." and ".."`);
}

/** @param {string} message */
export function refusal(message) {
  return Object.assign(new Error(message), { retry: false });
}
