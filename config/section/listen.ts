// A listen address of the configuration; what its pattern lets pass is checked here.
import type { Report } from '../check/problem.ts';
import type { ListenAddress } from '../config.ts';
import { listenPattern, parseListen } from '../quantity.ts';
import { nodeAt, type SourceNode, textOf } from '../source/tree.ts';

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
