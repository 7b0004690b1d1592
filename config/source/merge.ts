// Merges the source trees of several files: maps merge deeply, and lists are concatenated. Any other two values that differ are a
// conflict.
import { formatPlace, type Report } from '../check/problem.ts';
import {
  describeKind,
  isEmptyNode,
  type MapEntry,
  type MapNode,
  type NodePath,
  type ScalarNode,
  type SourceNode,
} from './tree.ts';

/** The merged source tree. On a conflict the earlier value stays. Messages do not show values, which can be secrets. */
export function mergeTrees(first: SourceNode, second: SourceNode, report: Report, path: NodePath = []): SourceNode {
  // A key without a value is unset.
  if (isEmptyNode(second)) return first;
  if (isEmptyNode(first)) return second;
  if (first.kind === 'map' && second.kind === 'map') return mergeMaps(first, second, report, path);
  if (first.kind === 'list' && second.kind === 'list') return { ...first, items: [...first.items, ...second.items] };
  const conflict = conflictOf(first, second);
  if (conflict !== null) report({ place: second.place, path, message: conflict });
  return first;
}

function mergeMaps(first: MapNode, second: MapNode, report: Report, path: NodePath): MapNode {
  const entries = new Map<string, MapEntry>(first.entries);
  for (const [key, entry] of second.entries) {
    const known = entries.get(key);
    const merged = known && { ...known, value: mergeTrees(known.value, entry.value, report, [...path, key]) };
    entries.set(key, merged ?? entry);
  }
  return { ...first, entries };
}

function conflictOf(first: SourceNode, second: SourceNode): string | null {
  const at = formatPlace(first.place);
  if (first.kind !== second.kind)
    return `is ${describeKind(second)} here and ${describeKind(first)} at ${at}; keep one of the two`;
  const same = (first as ScalarNode).value === (second as ScalarNode).value;
  return same ? null : `is set to something else at ${at}; keep one of the two`;
}
