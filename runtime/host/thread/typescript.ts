// Lets a thread load worker plugins in TypeScript on versions of Node that cannot do so by themselves.
import { register } from 'node:module';
import type { HostedPlugin } from '../wire/plugin-host.ts';

/** Registers the loader (typescript-loader.ts) for this thread if a worker plugin is in TypeScript and Node does not strip types itself. */
export function loadTypeScript(plugins: readonly HostedPlugin[]): void {
  if ((process.features as { typescript?: unknown }).typescript) return;
  if (!plugins.some(({ runtime, entrypoint }) => runtime === 'worker' && /\.m?ts$/.test(entrypoint))) return;
  register(new URL('./typescript-loader.js', import.meta.url), { data: plugins.map(({ directory }) => directory) });
}
