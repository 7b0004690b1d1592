// Finds the source file of a position in a bundle. In a bundle, the code of each source file begins with a comment that names the file.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * `source`: the file's path from the root of the project. `line`: counted in the bundle, where the comment that names the file is line 1.
 */
export type SourcePlace = { readonly source: string; readonly line: number };

/** Matches a position in a file as V8 prints it. */
const place = /(file:\/\/[^\s()]+\.js):(\d+):\d+/g;
const beginning = /^\/\/ ([\w@.-]+(?:\/[\w@.-]+)*\.[cm]?[jt]s)$/;

/** Finds the sources of positions in several bundles. Each bundle is read once. */
export class Bundles {
  readonly #lines = new Map<string, readonly string[]>();

  /** `line`: counted from 1. Null: the file names no source up to this line, so it is probably not a bundle. */
  placeOf(url: string, line: number): SourcePlace | null {
    const lines = this.#linesOf(url);
    for (let at = Math.min(line, lines.length) - 1; at >= 0; at--) {
      const source = beginning.exec(lines[at]!)?.[1];
      if (source !== undefined) return { source, line: line - at };
    }
    return null;
  }

  #linesOf(url: string): readonly string[] {
    const known = this.#lines.get(url);
    if (known !== undefined) return known;
    let lines: string[] = [];
    try {
      lines = readFileSync(fileURLToPath(url), 'utf8').split('\n');
    } catch {}
    this.#lines.set(url, lines);
    return lines;
  }
}

/** Adds the source file to each position of the stack that is in a bundle. Only for errors, because reading the bundles takes time. */
export function withSourceNames(stack: string): string {
  const bundles = new Bundles();
  return stack.replaceAll(place, (found, url: string, line: string) => {
    const from = bundles.placeOf(url, Number(line));
    return from === null ? found : `${from.source} in ${found}`;
  });
}
