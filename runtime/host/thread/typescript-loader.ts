// The module loader for worker plugins in TypeScript, for Node before 22.18. Blanks out types, as newer versions of Node do.
import type { LoadHook } from 'node:module';
import { transformSync } from '@swc/wasm-typescript';

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
    throw new SyntaxError((error as { message: string }).message);
  }
};
