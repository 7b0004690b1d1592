#!/usr/bin/env node
// The command `headgate-slim`, which removes the binaries of uWebSockets.js that this platform and Node version do not
// load, and other files of that package that are never loaded.
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { binariesIn, fitsHere, uwsDirectory } from '../http/transport/uws-binary.ts';
import { exitStatus } from './exit-status.ts';

/** Files and directories of the package uWebSockets.js that are never loaded. */
const unused = ['docs', 'examples', 'misc', 'mvp', 'scripts', 'src', 'tests', 'build.c', 'logo.svg', 'Makefile'];

function main(words: readonly string[]): number {
  const isDry = words.includes('--dry-run');
  const unknown = words.find(word => word !== '--dry-run' && word !== '--help');
  if (unknown !== undefined || words.includes('--help')) {
    const say = unknown === undefined ? process.stdout : process.stderr;
    if (unknown !== undefined) say.write(`headgate-slim: unknown argument ${JSON.stringify(unknown)}\n`);
    say.write(
      'usage: headgate-slim [--dry-run]\nRemoves the binaries of uWebSockets.js for other platforms and other versions of Node.\n',
    );
    return unknown === undefined ? exitStatus.ok : exitStatus.usage;
  }
  const directory = uwsDirectory();
  if (directory === undefined) {
    process.stdout.write('headgate has no uWebSockets.js of its own: nothing to remove\n');
    return exitStatus.ok;
  }
  const binaries = binariesIn(directory);
  const removed = binaries.filter(binary => !fitsHere(binary));
  const bytes = removed.reduce((sum, { file }) => sum + statSync(join(directory, file)).size, 0);
  if (!isDry) {
    for (const name of [...removed.map(({ file }) => file), ...unused])
      rmSync(join(directory, name), { recursive: true, force: true });
  }
  const kept = binaries.filter(fitsHere).map(({ file }) => file);
  const keeps =
    kept.length > 0 ? `keeps ${kept.join(', ')}` : 'keeps none: no binary is for this platform and Node version';
  const verb = isDry ? 'would remove' : 'removed';
  process.stdout.write(
    `uWebSockets.js: ${keeps}; ${verb} ${removed.length} others (${Math.round(bytes / 2 ** 20)} MiB)\n`,
  );
  return exitStatus.ok;
}

process.exitCode = main(process.argv.slice(2));
