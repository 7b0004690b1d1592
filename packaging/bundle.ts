// The last step of the build: what the service's processes and threads load becomes a few files each, in place of hundreds.
// Finding, opening and linking modules was most of what a start cost.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = join(root, 'dist');
const chunks = 'chunks';

/** What is started by its path. Each has chunks of its own: what a thread needs at once is one file. */
const entries = [
  'cli/main',
  'cli/slim',
  'service/ledger/thread',
  'service/indexer/thread',
  'service/reads/thread',
  'runtime/host/process/main',
  'runtime/host/thread/thread',
  'runtime/host/thread/concurrent-thread',
  'runtime/host/thread/sealed-loader',
  'runtime/host/thread/typescript-loader',
];

/** Installed with the product: binaries, packages that start files of their own, and what plugins import. All else is bundled. */
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const installed = Object.keys({ ...dependencies, ...optionalDependencies });

const place = /new URL\('(\.[^']*\.js)', import\.meta\.url\)/g;

/** Code that names a built file beside itself finds it, wherever the bundle puts this code. */
const places: Plugin = {
  name: 'places of built files',
  transform(code, id) {
    if (!code.includes('import.meta.url')) return null;
    const from = relative(root, dirname(id));
    return code.replaceAll(place, (_, path: string) => `__built('${posix.join(from, path)}')`);
  },
  renderChunk(code, { fileName }) {
    const up = posix.relative(posix.dirname(fileName), '.') || '.';
    return code.replaceAll(
      /__built\(['"]([^'"]+)['"]\)/g,
      (_, path: string) => `new URL('${up}/${path}', import.meta.url)`,
    );
  },
};

const written = new Set<string>();
/** Of the packages in the bundle, the licenses that must go with their code. */
const licensed = new Map<string, string>();

async function bundle(entry: string): Promise<void> {
  const made = await rolldown({
    input: { [entry]: join(root, `${entry}.ts`) },
    cwd: root,
    platform: 'node',
    external: [/^node:/, ...installed.map(name => new RegExp(`^${name}(/|$)`))],
    plugins: [places],
  });
  const { output } = await made.write({
    dir: dist,
    format: 'esm',
    chunkFileNames: `${chunks}/[name]-[hash].js`,
  });
  await made.close();
  for (const file of output) {
    written.add(file.fileName);
    if (file.type === 'chunk') for (const id of file.moduleIds) noteLicense(id);
  }
}

function noteLicense(id: string): void {
  const [, directory, name] = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(id) ?? [];
  if (directory === undefined || name === undefined || licensed.has(name)) return;
  const file = readdirSync(directory).find(one => /^licen[cs]e/i.test(one));
  if (file === undefined) throw new Error(`${name} is bundled, and has no file with its license`);
  licensed.set(name, readFileSync(join(directory, file), 'utf8').trim());
}

for (const entry of entries) await bundle(entry);
// Those of the build before go last: a service that runs may still need what has not changed.
for (const name of readdirSync(join(dist, chunks)))
  if (!written.has(`${chunks}/${name}`)) rmSync(join(dist, chunks, name));
const licenses = [...licensed].sort().map(([name, text]) => `${name}\n\n${text}\n`);
writeFileSync(join(dist, 'LICENSES.txt'), licenses.join(`\n${'-'.repeat(80)}\n\n`));
