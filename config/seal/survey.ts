// Collects the files that a lock covers, with their hashes, and reports unsafe paths. A lock covers the configuration files, the files of each
// plugin except those in its node_modules directories, and all entrypoints.
import { dirname, join, relative } from 'node:path';
import type { ConfigReading } from '../reading.ts';
import { digestBytes, diskReason, type Files, isWithin } from '../source/files.ts';
import type { LockedFile } from './lock.ts';

/**
 * The maximum number of files in a lock. If there are more, a plugin root is probably the wrong directory, and reading all its
 * files could take minutes.
 */
const filesMax = 50_000;

/** A problem of one file or directory; the path is absolute. */
export type LockFinding = { readonly path: string; readonly message: string };

export type FileSurvey = {
  /** The sealed files, sorted by path. */
  readonly files: readonly LockedFile[];
  /** The SHA-256 in hex of each sealed file, by the file's real path. */
  readonly digests: ReadonlyMap<string, string>;
  /** The unsafe paths, for example a link that leaves its directory, or a file that everyone can write. */
  readonly findings: readonly LockFinding[];
  readonly groupWritable: readonly string[];
};

export function survey(
  { config, pluginPlaces, manifests, bytes }: ConfigReading,
  lockFile: string,
  disk: Files,
): FileSurvey {
  const surveyor = new Surveyor(dirname(config.mainFile), bytes, disk);
  surveyor.inspectLock(lockFile);
  for (const file of config.files) surveyor.takeIncluded(file);
  for (const { directory, root } of pluginPlaces) surveyor.takePlugin(directory, root);
  // An entrypoint is sealed even if it is in node_modules.
  for (const { entrypoint } of manifests) surveyor.takeEntrypoint(entrypoint);
  return surveyor.survey();
}

class Surveyor {
  readonly #base: string;
  readonly #bytes: ReadonlyMap<string, Uint8Array>;
  readonly #disk: Files;
  readonly #files = new Map<string, LockedFile>();
  readonly #digests = new Map<string, string>();
  readonly #findings = new Map<string, string>();
  readonly #groupWritable = new Set<string>();
  /** The real paths of the directories that links must not leave. */
  readonly #realHomes = new Map<string, string>();

  constructor(base: string, bytes: ReadonlyMap<string, Uint8Array>, disk: Files) {
    this.#base = base;
    this.#bytes = bytes;
    this.#disk = disk;
  }

  survey(): FileSurvey {
    return {
      files: [...this.#files.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
      digests: this.#digests,
      findings: [...this.#findings].map(([path, message]) => ({ path, message })),
      groupWritable: [...this.#groupWritable],
    };
  }

  inspectLock(file: string): void {
    if (this.#disk.kind(file) !== 'missing' && this.#realInside(file, this.#base) !== null)
      this.#checkModes(file, file);
  }

  /**
   * Adds a configuration file. A link must not lead out of the directory of the main file or, for a file outside that
   * directory, out of the file's own directory.
   */
  takeIncluded(file: string): void {
    const home = isWithin(file, this.#base) ? this.#base : dirname(file);
    this.#checkModes(dirname(file), home);
    const real = this.#realInside(file, home);
    if (real !== null) this.#takeFile(file, real);
  }

  takePlugin(directory: string, root: string): void {
    this.#checkModes(directory, root);
    if (directory === root || this.#realInside(directory, root) !== null) this.#takeDirectory(directory, directory, []);
  }

  takeEntrypoint(file: string): void {
    if (!this.#digests.has(file)) this.#takeFile(file, null);
  }

  /**
   * Adds the files of a directory of a plugin, without node_modules. `above` are the real paths of the plugin's directories above this one; a
   * link back to one of them is skipped.
   */
  #takeDirectory(directory: string, home: string, above: readonly string[]): void {
    const { realpath, list, kind } = this.#disk;
    try {
      const real = realpath(directory);
      if (above.includes(real)) return;
      this.#checkModes(directory, home);
      for (const name of list(directory)) {
        const path = join(directory, name);
        const realOfEntry = this.#realInside(path, home);
        if (realOfEntry === null) continue;
        const what = kind(path);
        if (what === 'file') this.#takeFile(path, realOfEntry);
        else if (what !== 'directory') this.#find(path, 'is neither a file nor a directory');
        else if (name !== 'node_modules') this.#takeDirectory(path, home, [...above, real]);
        if (this.#files.size > filesMax) {
          this.#find(home, `has more than ${filesMax} files to seal; move files that are not code elsewhere`);
          return;
        }
      }
    } catch (error) {
      this.#find(directory, `cannot be listed (${diskReason(error)})`);
    }
  }

  /**
   * Adds a file. If the file was parsed, the parsed bytes are hashed, and the file is not read again. `real`: the real path of the file;
   * null if it is not known yet.
   */
  #takeFile(path: string, real: string | null): void {
    try {
      this.#checkModes(path, path);
      const parsed = this.#bytes.get(path);
      const { size, sha256 } = parsed === undefined ? this.#disk.digest(path) : digestBytes(parsed);
      const name = relative(this.#base, path);
      this.#files.set(name, { path: name, size, sha256 });
      this.#digests.set(real ?? this.#disk.realpath(path), sha256);
    } catch (error) {
      this.#find(path, `cannot be read (${diskReason(error)})`);
    }
  }

  /** The real path of an entry that is inside of `home`; otherwise reports the entry, and returns null. */
  #realInside(path: string, home: string): string | null {
    try {
      const real = this.#disk.realpath(path);
      const realHome = this.#realHomes.get(home) ?? this.#disk.realpath(home);
      this.#realHomes.set(home, realHome);
      if (real === realHome || isWithin(real, realHome)) return real;
      this.#find(path, `is a link out of ${home}, to ${real}; replace the link with a copy of what it leads to`);
    } catch (error) {
      this.#find(path, `cannot be resolved (${diskReason(error)})`);
    }
    return null;
  }

  /** Checks the permissions of the path and of the directories above it, up to `home`. */
  #checkModes(path: string, home: string): void {
    try {
      const mode = this.#disk.mode(path);
      if ((mode & 0o002) !== 0) this.#find(path, 'can be written by everyone; remove that permission (chmod o-w)');
      else if ((mode & 0o020) !== 0) this.#groupWritable.add(path);
    } catch (error) {
      this.#find(path, `has permissions that cannot be read (${diskReason(error)})`);
    }
    if (path !== home) this.#checkModes(dirname(path), home);
  }

  #find(path: string, message: string): void {
    this.#findings.set(path, message);
  }
}
