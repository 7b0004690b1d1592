// The files of the dashboard. The build (`packaging/ui.ts`) has compressed them with Brotli; they are read once and kept in memory.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';

export const pageName = 'index.html';

const types: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file in three forms: `brotli`, which the build made, and `plain` and `gzip`, which are made from it on first use. */
export class UiFile {
  readonly type: string;
  readonly brotli: Uint8Array;
  #plain: Uint8Array | undefined;
  #gzip: Uint8Array | undefined;

  constructor(type: string, brotli: Uint8Array) {
    this.type = type;
    this.brotli = brotli;
  }

  get plain(): Uint8Array {
    this.#plain ??= brotliDecompressSync(this.brotli);
    return this.#plain;
  }

  get gzip(): Uint8Array {
    this.#gzip ??= gzipSync(this.plain);
    return this.#gzip;
  }
}

let loaded: ReadonlyMap<string, UiFile> | undefined;

export function uiFiles(): ReadonlyMap<string, UiFile> {
  loaded ??= load(join(dirname(createRequire(import.meta.url).resolve('headgate/package.json')), 'dist/ui'));
  return loaded;
}

const compressed = '.br';

function load(directory: string): Map<string, UiFile> {
  const names = readdirSync(directory).filter(name => name.endsWith(compressed));
  return new Map(
    names.map(name => {
      const plainName = name.slice(0, -compressed.length);
      return [plainName, new UiFile(types[extname(plainName)]!, readFileSync(join(directory, name)))];
    }),
  );
}

/** The page of the dashboard for the setting `ui.path`: in all links to its files, `path` replaces the prefix `/ui`. */
export function pageAt(path: string): UiFile {
  const page = uiFiles().get(pageName)!;
  const text = Buffer.from(page.plain).toString('utf8').replaceAll('"/ui/', `"${path}/`);
  return new UiFile(page.type, brotliCompressSync(text));
}
