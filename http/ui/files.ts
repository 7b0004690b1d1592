// The files of the dashboard, which the build has made. They are read once and kept in memory, also compressed.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

export type UiFile = {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly gzip: Uint8Array;
  readonly brotli: Uint8Array;
};

export const pageName = 'index.html';

const types: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

let loaded: ReadonlyMap<string, UiFile> | undefined;

/** The files by name. */
export function uiFiles(): ReadonlyMap<string, UiFile> {
  loaded ??= load(join(dirname(createRequire(import.meta.url).resolve('headgate/package.json')), 'dist/ui'));
  return loaded;
}

function load(directory: string): Map<string, UiFile> {
  const read = (name: string) => readFileSync(join(directory, name));
  const names = readdirSync(directory).filter(name => types[extname(name)] !== undefined);
  return new Map(
    names.map(name => {
      const file = {
        type: types[extname(name)]!,
        bytes: read(name),
        gzip: read(`${name}.gz`),
        brotli: read(`${name}.br`),
      };
      return [name, file];
    }),
  );
}

/** The page, with its files below `path`. */
export function pageAt(path: string): UiFile {
  const page = uiFiles().get(pageName)!;
  const bytes = Buffer.from(Buffer.from(page.bytes).toString('utf8').replaceAll('"/ui/', `"${path}/`));
  return { type: page.type, bytes, gzip: gzipSync(bytes), brotli: brotliCompressSync(bytes) };
}
