// Finds the floor to which a function belongs, by the path of its code. A floor is a layer of the service, such as `storage`, or another use of
// a thread's time, such as `idle`.
import type { Profiler } from 'node:inspector';

/**
 * `edge`: http/, cli/, most of service/, and the sockets. `ledger`: actors/, service/ledger/ and service/indexer/.
 * `storage`: the store and LMDB. `host`: the plugin host and the way to it. `plugin`: code that is not the project's.
 * `turns`: turns, and packets between threads. `node`: other JavaScript, called by none of these. `native`: code that is
 * not JavaScript and not called by it, such as the event loop. `garbage`: the garbage collector. `idle`: waiting for events.
 */
export const floors = [
  'edge',
  'ledger',
  'storage',
  'host',
  'plugin',
  'turns',
  'node',
  'native',
  'garbage',
  'idle',
] as const;
export type Floor = (typeof floors)[number];
export type CallFrame = Pick<Profiler.ProfileNode['callFrame'], 'functionName' | 'url'>;

const ofState: { readonly [name: string]: Floor } = {
  '(root)': 'native',
  '(program)': 'native',
  '(garbage collector)': 'garbage',
  '(idle)': 'idle',
};

const ofPath: readonly (readonly [pattern: RegExp, floor: Floor])[] = [
  [/^dist\/(actors|service\/(ledger|indexer))\//, 'ledger'],
  [/^dist\/(http|cli|service)\//, 'edge'],
  [/^node_modules\/uWebSockets\.js\//, 'edge'],
  [/^dist\/runtime\/store\//, 'storage'],
  [/^node_modules\/lmdb\//, 'storage'],
  [/^dist\/runtime\/host\//, 'host'],
  [/^node_modules\/piscina\//, 'host'],
  [/^dist\/runtime\/(loop|turn|link)\.[jt]s$/, 'turns'],
  // Code of the project and its packages for which no pattern matches counts as code of its caller.
  [/^(?!dist\/|node_modules\/)/, 'plugin'],
];

/** `root`: the project's directory as a URL that ends with a slash. */
export function floorOf({ functionName, url }: CallFrame, caller: Floor, root: string): Floor {
  const state = url === '' ? ofState[functionName] : undefined;
  if (state !== undefined) return state;
  const path = url.startsWith(root) ? url.slice(root.length) : url;
  const own = url.startsWith('file:') ? ofPath.find(([pattern]) => pattern.test(path))?.[1] : undefined;
  return own ?? (caller === 'native' ? 'node' : caller);
}
