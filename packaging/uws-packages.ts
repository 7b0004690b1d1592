// `npm run uws-packages -- DIRECTORY` creates a package of uWebSockets.js binaries for each platform, ready to publish. Every binary must
// have the SHA-256 in uws-binaries.json; `--pin` writes that file from the installed package.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binariesIn, uwsDirectory } from '../http/transport/uws-binary.ts';
import { abis, belongsTo, type Platform, packageName, platforms } from './platforms.ts';

const pinsFile = fileURLToPath(new URL('../../packaging/uws-binaries.json', import.meta.url));

/** `package` and `version`: the name and version of the pinned package. `source`: the commit of uWebSockets.js that the package names. */
type Pins = {
  readonly package: string;
  readonly version: string;
  readonly source: string;
  readonly sha256: { readonly [file: string]: string };
};

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function main(words: readonly string[]): number {
  const from = uwsDirectory();
  if (from === undefined) return fail('uWebSockets.js is not installed: run npm ci first');
  if (words[0] === '--pin' && words.length === 1) return pin(from);
  const into = words[0];
  if (into === undefined || into.startsWith('-') || words.length > 1)
    return fail('usage: npm run uws-packages -- DIRECTORY, or npm run uws-packages -- --pin');
  const pins: Pins = JSON.parse(readFileSync(pinsFile, 'utf8'));
  const { version } = installed(from);
  if (version !== pins.version)
    return fail(
      `version ${version} is installed, but ${pinsFile} pins ${pins.version}; install that version, or use --pin`,
    );
  const wrong = Object.entries(pins.sha256).filter(([file, expected]) => sha256(join(from, file)) !== expected);
  if (wrong.length > 0)
    return fail(
      `these binaries do not have the SHA-256 in packaging/uws-binaries.json: ${wrong.map(([file]) => file).join(', ')}`,
    );
  for (const platform of platforms) process.stdout.write(`${writePackage(platform, from, into, pins)}\n`);
  return 0;
}

function pin(from: string): number {
  const files = binariesIn(from).filter(binary => platforms.some(platform => belongsTo(platform, binary)));
  const { name, version } = installed(from);
  const pins: Pins = {
    package: name,
    version,
    source: readFileSync(join(from, 'source_commit'), 'utf8').trim(),
    sha256: Object.fromEntries(files.map(({ file }) => [file, sha256(join(from, file))])),
  };
  writeFileSync(pinsFile, `${JSON.stringify(pins, null, 2)}\n`);
  return 0;
}

function writePackage(platform: Platform, from: string, into: string, pins: Pins): string {
  const name = packageName(platform);
  const directory = join(into, name);
  mkdirSync(directory, { recursive: true });
  const files = Object.keys(pins.sha256).filter(file => file.startsWith(`uws_${platform.platform}_${platform.arch}_`));
  for (const file of [...files, 'LICENSE']) copyFileSync(join(from, file), join(directory, file));
  const manifest = {
    name,
    version: pins.version,
    description: `The binaries of uWebSockets.js for ${platform.platform}-${platform.arch}, for headgate.`,
    license: 'Apache-2.0',
    main: 'index.cjs',
    os: [platform.platform],
    cpu: [platform.arch],
    ...(platform.libc !== undefined && { libc: [platform.libc] }),
    files: ['index.cjs', 'SHA256SUMS', ...files],
  };
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(directory, 'SHA256SUMS'), files.map(file => `${pins.sha256[file]}  ${file}\n`).join(''));
  writeFileSync(join(directory, 'README.md'), readme(name, pins));
  const load = `uws_${platform.platform}_${platform.arch}_`;
  writeFileSync(
    join(directory, 'index.cjs'),
    `// ABIs of Node: ${abis.join(', ')}.\nmodule.exports = require(\`./${load}\${process.versions.modules}.node\`);\n`,
  );
  return directory;
}

function readme(name: string, pins: Pins): string {
  return `# ${name}

Native binaries of [uWebSockets.js](https://github.com/uNetworking/uWebSockets.js) (Apache-2.0), copied unchanged from
the package \`${pins.package}\` ${pins.version} (source commit ${pins.source}). SHA256SUMS lists them. headgate loads the one for the
running version of Node.
`;
}

function installed(from: string): { readonly name: string; readonly version: string } {
  return JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
}

function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}

process.exitCode = main(process.argv.slice(2));
