// Maps positions in a bundle to source files: the code of each source begins with a line that names it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Relative to the root of the project; the line is counted from the beginning of the source's code. */
export type SourcePlace = { readonly source: string; readonly line: number };

/** A position in a file, as V8 prints it. */
const place = /(file:\/\/[^\s()]+\.js):(\d+):\d+/g;
const beginning = /^\/\/ ([\w@.-]+(?:\/[\w@.-]+)*\.[cm]?[jt]s)$/;

/** Reads each file once. */
export class Bundles {
  readonly #lines = new Map<string, readonly string[]>();

  /** Null: the line is not part of a bundle. Lines start at 1. */
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

/** The stack with the source added to each position in a bundle. Only for errors, since it reads files. */
export function withSourceNames(stack: string): string {
  const bundles = new Bundles();
  return stack.replaceAll(place, (found, url: string, line: string) => {
    const from = bundles.placeOf(url, Number(line));
    return from === null ? found : `${from.source} in ${found}`;
  });
}
