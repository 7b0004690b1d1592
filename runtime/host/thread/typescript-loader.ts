// The module loader for worker plugins in TypeScript, for Node before 22.18. Blanks out types, as newer versions of Node do.
import type { InitializeHook, LoadHook } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/wasm-typescript';

/** An error of `transformSync`. The first line is 1, the first column 0. */
type Fault = { readonly message: string; readonly startLine?: number; readonly startColumn?: number };

/** The directories of the plugins. */
let directories: readonly string[] = [];

export const initialize: InitializeHook<readonly string[] | undefined> = (given = []) => {
  directories = given;
};

export const load: LoadHook = async (url, context, nextLoad) => {
  if (!/\.m?ts(\?|$)/.test(url)) return nextLoad(url, context);
  // Without a given format, Node would reject the extension as unknown.
  const module = await nextLoad(url, { ...context, format: 'module' });
  const text = Buffer.from(module.source as Uint8Array).toString();
  try {
    // Types are replaced by spaces, so the lines and columns in stack traces match the file.
    const { code } = transformSync(text, { mode: 'strip-only', module: true });
    return { ...module, source: code };
  } catch (error) {
    const { message, startLine, startColumn = 0 } = error as Fault;
    throw new SyntaxError(
      startLine === undefined ? message : `${nameOf(url)}:${startLine}:${startColumn + 1}: ${message}`,
    );
  }
};

/** The path of a file, relative to the directory of its plugin. */
function nameOf(url: string): string {
  const path = fileURLToPath(url);
  const home = directories.find(directory => path.startsWith(`${directory}/`));
  return home === undefined ? path : relative(home, path);
}
