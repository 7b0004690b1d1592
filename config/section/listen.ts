// Reads a listen address, and checks what the pattern in the schema cannot: the port's range, and that two listeners differ.
import type { Report } from '../check/problem.ts';
import type { Config, ListenAddress } from '../config.ts';
import { listenPattern, parseListen } from '../quantity.ts';
import { nodeAt, placesAt, type SourceNode, textOf } from '../source/tree.ts';

export function readListen(root: SourceNode, path: readonly string[], report: Report): ListenAddress | undefined {
  const node = nodeAt(root, ...path);
  const text = textOf(node);
  if (node === undefined || text === undefined) return undefined;
  const listen = parseListen(text);
  if (listen === undefined && new RegExp(listenPattern).test(text)) {
    const message = `is ${JSON.stringify(text)}; the port must be from 0 to 65535`;
    report({ place: node.place, path, message });
  }
  return listen;
}

/** Reports two listeners at one address. With port 0 each gets a free port. */
export function checkListeners(
  root: SourceNode,
  api: Config['api'],
  webhooks: Config['webhooks'],
  report: Report,
): void {
  const { host, port } = webhooks.listen;
  if (!api.enabled || port === 0 || host !== api.listen.host || port !== api.listen.port) return;
  const own = nodeAt(root, 'webhooks', 'listen') === undefined ? ['api', 'listen'] : ['webhooks', 'listen'];
  const message = `${host}:${port} is the address of both api.listen and webhooks.listen; give one of them another port`;
  report({ place: placesAt(root, own).value, path: own, message });
}
