// A directory below the root. It is held open during an operation, so that no link and no rename can redirect the operation.
import fs from 'node:fs';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = fs.constants;
/** Whether a path can name an open directory by its descriptor: names are then looked up in exactly that directory. */
const hasDescriptors = fs.existsSync('/proc/self/fd');

/** An open directory. The caller must close it. */
export class Directory {
  /** @readonly */
  fd;
  #path;

  /** @param {number} fd @param {string} path */
  constructor(fd, path) {
    this.fd = fd;
    this.#path = path;
  }

  /** The path of an entry of this directory; without a name, of the directory. @param {string} [name] a name without a slash */
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
 * Opens the directories in `names`, each in the one before it, without following links. Calls `use` with the last one, and closes all of them.
 * @template T
 * @param {string} root links in its path are followed, because the operator sets it
 * @param {readonly string[]} names
 * @param {{ readonly make: boolean }} options `make`: missing directories are created
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
 * The names in a path. If the path could leave the root, throws an error that is not retried.
 * @param {string} path
 * @returns {string[]}
 */
export function namesOf(path) {
  const names = path.split('/');
  const isFit = names.every(name => name !== '' && name !== '.' && name !== '..' && !name.includes('\0'));
  if (isFit) return names;
  throw refusal(`${JSON.stringify(path)} must be a relative path below the root, without empty parts, "." and ".."`);
}

/** @param {string} message */
export function refusal(message) {
  return Object.assign(new Error(message), { retry: false });
}
