// Makes a plugin thread verify the modules of sealed plugins (plugins with `digests`) while it loads them. Except for addons,
// exactly the verified bytes run.
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { createRequire, type LoadFnOutput, type LoadHookContext, register } from 'node:module';
import { type SealedDirectory, sealedHash, verifyLoaded, verifySource } from '../wire/digests.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';

type Load = (
  url: string,
  context: LoadHookContext,
  next: (url: string, context: LoadHookContext) => LoadFnOutput,
) => LoadFnOutput;
/** Registers hooks for every module that is imported or required. Undefined before Node 22.15. */
const { registerHooks } = nodeModule as { registerHooks?: (hooks: { load: Load }) => void };

type Loader = (module: { _compile(source: string, path: string): void; exports: unknown }, path: string) => void;

/** Makes this thread verify the modules of sealed plugins, if there are any. */
export function verifyModules(plugins: readonly HostedPlugin[]): void {
  const sealed = plugins.flatMap(({ directory, digests }) => (digests === undefined ? [] : [{ directory, digests }]));
  if (sealed.length === 0) return;
  if (registerHooks !== undefined) {
    registerHooks({ load: (url, context, next) => verifyLoaded(sealed, url, next(url, context)) });
  } else {
    register(new URL('./sealed-loader.js', import.meta.url), { data: sealed });
    verifyRequired(sealed);
  }
}

/** Verifies the modules that `require` loads. Before Node 22.15, the module loader (sealed-loader.ts) does not see these modules. */
function verifyRequired(sealed: readonly SealedDirectory[]): void {
  const loaders = createRequire(import.meta.url).extensions as unknown as { [extension: string]: Loader };
  const guard = (
    extension: string,
    load: (module: Parameters<Loader>[0], path: string, text: string) => void,
  ): void => {
    const plain = loaders[extension]!;
    loaders[extension] = (module, path) => {
      const hash = sealedHash(sealed, path);
      if (hash === null) return plain(module, path);
      const bytes = readFileSync(path);
      verifySource(path, hash, bytes);
      load(module, path, bytes.toString().replace(/^\uFEFF/, ''));
    };
  };
  const { '.node': addon } = loaders;
  guard('.js', (module, path, text) => module._compile(text, path));
  guard('.json', (module, _, text) => {
    module.exports = JSON.parse(text);
  });
  // An addon is verified, too, but the operating system then reads its file again, by its path.
  guard('.node', (module, path) => addon!(module, path));
}
