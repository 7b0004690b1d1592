// Runs after npm has installed headgate as a package, if npm allows install scripts: removes all binaries of uWebSockets.js but the one needed.
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { basename, dirname, join } = require('node:path');

const root = join(__dirname, '..');
const slim = join(root, 'dist', 'cli', 'slim.js');
// A checkout keeps all binaries, because it is built and tested with several versions of Node.
const isInstalled = basename(dirname(root)) === 'node_modules';
if (isInstalled && existsSync(slim)) spawnSync(process.execPath, [slim], { stdio: 'inherit' });
