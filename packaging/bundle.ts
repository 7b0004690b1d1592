// The last step of the build bundles the modules of each process and thread into a few files. Without bundles, resolving, reading and
// linking hundreds of modules would take most of the time of a start.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { buildUi } from './ui.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = join(root, 'dist');
const chunks = 'chunks';

/**
 * The modules with which processes and threads start. Each is bundled alone, so that a thread loads one file at its start, besides the
 * shared modules.
 */
const entries = [
  'cli/main',
  'cli/slim',
  'service/ledger/thread',
  'service/indexer/thread',
  'service/reads/thread',
  'service/backup/process',
  'runtime/host/process/main',
  'runtime/host/thread/thread',
  'runtime/host/thread/concurrent-thread',
  'runtime/host/thread/sealed-loader',
  'runtime/host/thread/typescript-loader',
];

/** Modules with large libraries that several entries load. Each becomes a file of its own, so that the package contains it once. */
const shared = ['runtime/pattern', 'runtime/json-schema'];

/**
 * Packages that the bundles load with `require`, each with the export that they use. `lmdb` and `msgpackr` have one CommonJS file besides a
 * dozen ES modules; finding and linking the ES modules would take a fifth of the start of each thread. `piscina` is CommonJS; an `import`
 * would first scan it for the names of its exports.
 */
const required: { readonly [name: string]: string } = { lmdb: 'open', msgpackr: 'Packr', piscina: 'Piscina' };

/**
 * The packages that are left out of the bundles are installed with headgate. They contain native code or WebAssembly, or plugins import
 * them.
 */
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const installed = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
  name => !Object.hasOwn(required, name),
);

const place = /new URL\('(\.[^']*\.js)', import\.meta\.url\)/g;

/** Rewrites `new URL('./file.js', import.meta.url)`, so that bundled code finds the built files that it refers to. */
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

const requiredPrefix = '\0required:';
const loadedByRequire: Plugin = {
  name: 'packages that are loaded with require',
  resolveId: name => (Object.hasOwn(required, name) ? requiredPrefix + name : null),
  load(id) {
    if (!id.startsWith(requiredPrefix)) return null;
    const name = id.slice(requiredPrefix.length);
    return `import { createRequire } from 'node:module';
export const { ${required[name]} } = createRequire(import.meta.url)('${name}');
`;
  },
};

const sharedPrefix = 'shared:';
/** Leaves the shared modules out of a bundle. The bundle imports their files instead. */
function sharedModules(entry: string): Plugin {
  return {
    name: 'modules that are files of their own',
    resolveId(name, importer) {
      if (importer === undefined || !name.startsWith('.')) return null;
      const found = shared.find(each => join(dirname(importer), name) === join(root, `${each}.ts`));
      return found === undefined || found === entry ? null : { id: sharedPrefix + found, external: true };
    },
    renderChunk(code, { fileName }) {
      const up = posix.relative(posix.dirname(fileName), '.') || '.';
      return code.replaceAll(/(["'])shared:([\w/-]+)\1/g, (_, quote, path) => `${quote}${up}/${path}.js${quote}`);
    },
  };
}

const written = new Set<string>();
/** The license text of each bundled package, by package name. `dist/LICENSES.txt` contains all of them. */
const licensed = new Map<string, string>();

async function bundle(entry: string): Promise<void> {
  const made = await rolldown({
    input: { [entry]: join(root, `${entry}.ts`) },
    cwd: root,
    platform: 'node',
    external: [/^node:/, ...installed.map(name => new RegExp(`^${name}(/|$)`))],
    plugins: [places, loadedByRequire, sharedModules(entry)],
  });
  const { output } = await made.write({
    dir: dist,
    format: 'esm',
    chunkFileNames: `${chunks}/[name]-[hash].js`,
    // Removes JSDoc comments, which keeps the package small. The comments that name the source files remain.
    comments: { jsdoc: false },
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
  if (file === undefined) throw new Error(`${name} is bundled, but has no license file`);
  licensed.set(name, readFileSync(join(directory, file), 'utf8').trim());
}

for (const entry of [...shared, ...entries]) await bundle(entry);
await buildUi(noteLicense);
// Removes the chunks of earlier builds last, so that the unchanged chunks, which a running service may still load, are never missing.
for (const name of readdirSync(join(dist, chunks)))
  if (!written.has(`${chunks}/${name}`)) rmSync(join(dist, chunks, name));
const licenses = [...licensed].sort().map(([name, text]) => `${name}\n\n${text}\n`);
writeFileSync(join(dist, 'LICENSES.txt'), licenses.join(`\n${'-'.repeat(80)}\n\n`));
