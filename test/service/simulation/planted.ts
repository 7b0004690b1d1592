// Bugs that are planted in the product to see whether the world finds them: a patch each, of a line or two.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/wasm-typescript';

export type Patch = {
  readonly name: string;
  /** What the product does wrong with it. */
  readonly what: string;
  /** The file that it changes, from the root of the project. */
  readonly path: string;
  readonly before: string;
  readonly after: string;
};

export function readPatches(directory: string): Patch[] {
  const names = readdirSync(directory).filter(name => name.endsWith('.patch'));
  return names
    .sort()
    .map(name => parsePatch(name.slice(0, -'.patch'.length), readFileSync(join(directory, name), 'utf8')));
}

/** Parses a sentence, and a unified diff of one hunk without line numbers: its lines must be in the file exactly once. */
function parsePatch(name: string, text: string): Patch {
  const [what, from, to, hunk, ...lines] = text.trimEnd().split('\n');
  const path = /^\+\+\+ b\/(.+)$/.exec(to ?? '')?.[1];
  if (!what || !from?.startsWith('--- a/') || path === undefined || hunk !== '@@')
    throw new Error(`${name} is no patch`);
  const side = (other: string) =>
    lines
      .filter(line => !line.startsWith(other))
      .map(line => `${line.slice(1)}\n`)
      .join('');
  return { name, what, path, before: side('+'), after: side('-') };
}

/** The file with the bug in it; null: its lines do not stand there exactly once, and the patch must be written again. */
export function planted({ before, after }: Patch, source: string): string | null {
  const at = source.indexOf(before);
  if (at < 0 || source.indexOf(before, at + 1) >= 0) return null;
  return source.slice(0, at) + after + source.slice(at + before.length);
}

/** Makes a compiled copy of product and simulation with the bug in it; null if the patch does not apply. */
export function plantIn(root: string, built: string, patch: Patch): string | null {
  const source = planted(patch, readFileSync(join(root, patch.path), 'utf8'));
  if (source === null) return null;
  const copy = join(built, '..', 'planted', patch.name);
  rmSync(copy, { recursive: true, force: true });
  cpSync(built, copy, { recursive: true });
  const { code } = transformSync(source, { mode: 'strip-only', module: true });
  const importing = code.replaceAll(/(from|import) '(\.[^']*)\.ts'/g, "$1 '$2.js'");
  writeFileSync(join(copy, patch.path.replace(/\.ts$/, '.js')), importing);
  return copy;
}
