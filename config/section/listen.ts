// Reads a listen address, and checks what the pattern in the schema cannot: the port's range, and that two listeners differ.
import type { ReportAt } from '../check/problem.ts';
import type { Config, ListenAddress } from '../config.ts';
import { listenPattern, parseListen } from '../quantity.ts';
import { nodeAt, type SourceNode, textOf } from '../source/tree.ts';

export function readListen(root: SourceNode, path: readonly string[], reportAt: ReportAt): ListenAddress | undefined {
  const text = textOf(nodeAt(root, ...path));
  const listen = parseListen(text);
  if (text !== undefined && listen === undefined && new RegExp(listenPattern).test(text))
    reportAt(path, `is ${JSON.stringify(text)}; the port must be from 0 to 65535`);
  return listen;
}

/** Reports two listeners at one address. With port 0 each gets a free port. */
export function checkListeners(
  root: SourceNode,
  api: Config['api'],
  webhooks: Config['webhooks'],
  reportAt: ReportAt,
): void {
  const { host, port } = webhooks.listen;
  if (!api.enabled || port === 0 || host !== api.listen.host || port !== api.listen.port) return;
  const own = nodeAt(root, 'webhooks', 'listen') === undefined ? ['api', 'listen'] : ['webhooks', 'listen'];
  reportAt(own, `${host}:${port} is the address of both api.listen and webhooks.listen; give one of them another port`);
}
