// Reports values that must be unique in a list, but occur twice.
import { itemsOf, type NodePath, nodeAt, type SourceLocation, type SourceNode, textOf } from '../source/tree.ts';
import { formatPlace, type ReportAt } from './problem.ts';

/**
 * Checks the value under `key` in each entry of the list at `path`. `what` completes the message "is already …". The message has
 * the locations of both entries, but not the value of a secret.
 */
export function reportDuplicates(
  root: SourceNode,
  path: NodePath,
  key: string,
  what: string,
  reportAt: ReportAt,
  isSecret = false,
): void {
  const first = new Map<string, SourceLocation>();
  for (const [index, item] of itemsOf(root, ...path).entries()) {
    const node = nodeAt(item, key);
    const text = textOf(node);
    if (node === undefined || text === undefined) continue;
    const before = first.get(text);
    const shown = isSecret ? 'the same text' : JSON.stringify(text);
    if (before === undefined) first.set(text, node.place);
    else reportAt([...path, index, key], `${shown} is already ${what} at ${formatPlace(before)}; it must be unique`);
  }
}
