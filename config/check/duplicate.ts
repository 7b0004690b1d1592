// Reports entries of a list that share a value which must be unique.
import { itemsOf, nodeAt, type SourceLocation, type SourceNode, textOf } from '../source/tree.ts';
import { formatPlace, type Report } from './problem.ts';

/** `what` completes the message "is already …". The message names the location of both entries, but not the value of a secret. */
export function reportDuplicates(
  list: SourceNode | undefined,
  path: readonly string[],
  key: string,
  what: string,
  report: Report,
  isSecret = false,
): void {
  const first = new Map<string, SourceLocation>();
  for (const [index, item] of itemsOf(list).entries()) {
    const node = nodeAt(item, key);
    const text = textOf(node);
    if (node === undefined || text === undefined) continue;
    const before = first.get(text);
    if (before === undefined) {
      first.set(text, node.place);
      continue;
    }
    const shown = isSecret ? 'the same text' : JSON.stringify(text);
    const message = `${shown} is already ${what} at ${formatPlace(before)}; it must be unique`;
    report({ place: node.place, path: [...path, index, key], message });
  }
}
