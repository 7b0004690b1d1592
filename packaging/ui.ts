// Builds the dashboard. The modules of `ui/` become a few files with hashed names in `dist/ui/`, each also compressed with gzip and with
// Brotli. The package has only the Brotli files; `http/ui/files.ts` makes the other forms from them.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = join(root, 'ui');
const target = join(root, 'dist/ui');

/** The maximum total size of the files that the first visit loads, compressed with gzip. */
export const firstLoadBytesMax = 60 * 1024;

/** `files`: the files of the dashboard by name, before compression. `first`: the names of the files that the first visit loads. */
type Made = { readonly files: ReadonlyMap<string, Buffer>; readonly first: readonly string[] };

/** Builds the dashboard. `moduleUsed` is called with the path of each module and each style sheet in the dashboard. */
export async function buildUi(moduleUsed: (path: string) => void): Promise<void> {
  const { files, first } = await make(moduleUsed);
  const written = new Set<string>();
  const write = (name: string, bytes: Buffer) => {
    writeFileSync(join(target, name), bytes);
    written.add(name);
  };
  mkdirSync(target, { recursive: true });
  let firstBytes = 0;
  for (const [name, bytes] of files) {
    write(name, bytes);
    const gzip = gzipSync(bytes, { level: 9 });
    if (first.includes(name)) firstBytes += gzip.length;
    write(`${name}.gz`, gzip);
    write(`${name}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }));
  }
  for (const name of readdirSync(target)) if (!written.has(name)) rmSync(join(target, name));
  if (firstBytes > firstLoadBytesMax)
    throw new Error(`the dashboard: the first visit loads ${firstBytes} bytes, more than ${firstLoadBytesMax}`);
}

async function make(moduleUsed: (path: string) => void): Promise<Made> {
  const chunks = await bundleScripts();
  const files = new Map<string, Buffer>();
  for (const { fileName, code, moduleIds } of chunks) {
    files.set(fileName, Buffer.from(code));
    moduleIds.forEach(moduleUsed);
  }
  const main = chunks.find(({ isEntry }) => isEntry)!;
  const style = Buffer.from(minified(styleOf(join(source, 'style/index.css'), moduleUsed)));
  const icon = readFileSync(join(source, 'icon.svg'));
  const styleName = hashed('style', 'css', style);
  const iconName = hashed('icon', 'svg', icon);
  files.set(styleName, style);
  files.set(iconName, icon);
  const scripts = [main.fileName, ...staticImports(main, chunks)];
  const preloads = scripts.slice(1).map(name => `<link rel="modulepreload" href="/ui/${name}">\n`);
  const page = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('/ui/icon.svg', `/ui/${iconName}`)
    .replace('/ui/index.css', `/ui/${styleName}`)
    .replace(
      '<script type="module" src="/ui/main.js">',
      script => preloads.join('') + script.replace('main.js', main.fileName),
    );
  files.set('index.html', Buffer.from(page));
  return { files, first: ['index.html', styleName, iconName, ...scripts] };
}

async function bundleScripts(): Promise<OutputChunk[]> {
  const made = await rolldown({
    input: join(source, 'main.tsx'),
    cwd: root,
    platform: 'browser',
    tsconfig: join(source, 'tsconfig.json'),
  });
  const { output } = await made.generate({
    format: 'esm',
    minify: true,
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await made.close();
  return output.filter(file => file.type === 'chunk');
}

/** The names of the chunks that `chunk` imports statically, directly or through other chunks. */
function staticImports(chunk: OutputChunk, all: readonly OutputChunk[]): string[] {
  const found = new Set<string>();
  const follow = ({ imports }: OutputChunk) => {
    for (const name of imports) {
      if (found.has(name)) continue;
      found.add(name);
      const next = all.find(({ fileName }) => fileName === name);
      if (next) follow(next);
    }
  };
  follow(chunk);
  return [...found];
}

const imported = /^@import "([^"]+)";\n/gm;

/** The style sheet, in which the contents of each imported style sheet replace its `@import`. */
function styleOf(path: string, moduleUsed: (path: string) => void): string {
  moduleUsed(path);
  return readFileSync(path, 'utf8').replaceAll(imported, (_, name: string) => {
    const from = createRequire(path);
    return styleOf(name.startsWith('.') ? join(dirname(path), name) : from.resolve(name), moduleUsed);
  });
}

function minified(style: string): string {
  return style
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};]) ?/g, '$1')
    .replaceAll(';}', '}')
    .trim();
}

function hashed(name: string, type: string, bytes: Buffer): string {
  return `${name}-${createHash('sha256').update(bytes).digest('base64url').slice(0, 8)}.${type}`;
}
