// Runs after npm has installed headgate as a package, where npm allows install scripts: leaves one binary of uWebSockets.js.
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { basename, dirname, join } = require('node:path');

const root = join(__dirname, '..');
const slim = join(root, 'dist', 'cli', 'slim.js');
// A checkout keeps the binaries of every Node version: it is built and tested with several.
const isInstalled = basename(dirname(root)) === 'node_modules';
if (isInstalled && existsSync(slim)) spawnSync(process.execPath, [slim], { stdio: 'inherit' });
