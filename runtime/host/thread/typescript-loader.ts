// The loader of Node before 22.18 for worker plugins in TypeScript: their types are blanked out, as newer versions do by themselves.
import type { LoadHook } from 'node:module';
import { transformSync } from '@swc/wasm-typescript';

export const load: LoadHook = async (url, context, nextLoad) => {
  if (!/\.m?ts(\?|$)/.test(url)) return nextLoad(url, context);
  // Told the format, Node does not ask what an unknown extension means.
  const module = await nextLoad(url, { ...context, format: 'module' });
  const text = Buffer.from(module.source as Uint8Array).toString();
  try {
    // What is blanked out is replaced by spaces: lines and columns in stack traces stay those of the file.
    const { code } = transformSync(text, { mode: 'strip-only', module: true });
    return { ...module, source: code };
  } catch (error) {
    throw new SyntaxError((error as { message: string }).message);
  }
};
