// Which source the code at a place in a bundle comes from: each source's code begins with a line that names it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** From the root of the project; the line counts from where the source's code begins. */
export type SourcePlace = { readonly source: string; readonly line: number };

/** A place in a file, as V8 writes it. */
const place = /(file:\/\/[^\s()]+\.js):(\d+):\d+/g;
const beginning = /^\/\/ ([\w@.-]+(?:\/[\w@.-]+)*\.[cm]?[jt]s)$/;

/** Reads each file once. */
export class Bundles {
  readonly #lines = new Map<string, readonly string[]>();

  /** Null: this is no line of a bundle. The first line is 1. */
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

/** The stack, with the source before each place in a bundle. For faults alone: it reads files. */
export function withSourceNames(stack: string): string {
  const bundles = new Bundles();
  return stack.replaceAll(place, (found, url: string, line: string) => {
    const from = bundles.placeOf(url, Number(line));
    return from === null ? found : `${from.source} in ${found}`;
  });
}
