// The installed native binaries of uWebSockets.js. Each is for one platform, one processor architecture and one ABI of Node.
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type Binary = {
  readonly file: string;
  /** `platform`, `arch` and `abi` are written as in `process.platform`, `process.arch` and `process.versions.modules`. */
  readonly platform: string;
  readonly arch: string;
  readonly abi: string;
};

/**
 * The directory of the package that headgate's package.json pins as uWebSockets.js; undefined if it is not installed. The project that headgate is
 * installed in may have another package of this name.
 */
export function uwsDirectory(): string | undefined {
  const require = createRequire(import.meta.url);
  const pinned: string | undefined = require('headgate/package.json').optionalDependencies?.['uWebSockets.js'];
  try {
    const directory = dirname(require.resolve('uWebSockets.js'));
    const { name, version } = require(join(directory, 'package.json'));
    return pinned === `npm:${name}@${version}` ? directory : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** All binaries of this directory, sorted by name. */
export function binariesIn(directory: string): Binary[] {
  return readdirSync(directory)
    .sort()
    .flatMap(file => {
      const match = /^uws_([a-z0-9]+)_([a-z0-9]+)_(\d+)\.node$/.exec(file);
      return match ? [{ file, platform: match[1]!, arch: match[2]!, abi: match[3]! }] : [];
    });
}

/** Whether this process can load the binary. */
export function fitsHere({ platform, arch, abi }: Binary): boolean {
  return platform === process.platform && arch === process.arch && abi === process.versions.modules;
}

/** The name of the package that has only the binaries for this platform. A release depends on one such package per platform. */
export const platformPackage = `headgate-uws-${process.platform}-${process.arch}`;

/** Says, in words, why this process has no binary; undefined if it has one. */
export function missingBinary(): string | undefined {
  const directory = uwsDirectory();
  if (directory === undefined) return 'the optional package uWebSockets.js is not installed';
  const binaries = binariesIn(directory);
  if (binaries.some(fitsHere)) return undefined;
  const here = `${process.platform}-${process.arch}`;
  const others = binaries.filter(({ platform, arch }) => platform === process.platform && arch === process.arch);
  if (others.length === 0) return `uWebSockets.js has no binary for ${here}`;
  const installed = others.map(({ abi }) => abi).join(', ');
  const { node, modules } = process.versions;
  return `the installed binary of uWebSockets.js is for another version of Node (ABI ${installed}; Node ${node} has ABI ${modules}): install headgate again with this Node`;
}
