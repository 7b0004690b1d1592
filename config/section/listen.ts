// Reads a listen address, and checks two rules that the schema cannot express: the range of the port, and different addresses for all listeners.
import type { ReportAt } from '../check/problem.ts';
import type { Config, ListenAddress } from '../config.ts';
import { listenPattern, parseListen } from '../quantity.ts';
import { nodeAt, type SourceNode, textOf } from '../source/tree.ts';

export function readListen(root: SourceNode, path: readonly string[], reportAt: ReportAt): ListenAddress | undefined {
  const text = textOf(root, ...path);
  const listen = parseListen(text);
  if (text !== undefined && listen === undefined && new RegExp(listenPattern).test(text))
    reportAt(path, `is ${JSON.stringify(text)}; the port must be from 0 to 65535`);
  return listen;
}

/** Reports two listeners at one address. With port 0 each listener gets a free port, so such addresses never clash. */
export function checkListeners(
  root: SourceNode,
  { api, webhooks, metrics }: Pick<Config, 'api' | 'webhooks' | 'metrics'>,
  reportAt: ReportAt,
): void {
  const listeners = [
    ...(api.enabled ? [{ section: 'api', listen: api.listen }] : []),
    { section: 'webhooks', listen: webhooks.listen },
    ...(metrics.listen === null ? [] : [{ section: 'metrics', listen: metrics.listen }]),
  ];
  for (const [place, { section, listen }] of listeners.entries()) {
    const { host, port } = listen;
    const other = listeners.slice(0, place).find(({ listen }) => listen.host === host && listen.port === port);
    if (port === 0 || !other) continue;
    const own = nodeAt(root, section, 'listen') === undefined ? other.section : section;
    const names = `${other.section}.listen and ${section}.listen`;
    reportAt([own, 'listen'], `${host}:${port} is the address of both ${names}; give one of them another port`);
  }
}
