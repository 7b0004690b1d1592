// Paths into the data of a step, as pipelines write them: `payload.items.0.name`.
import type { ReportAt } from '../check/problem.ts';
import { didYouMean } from '../check/suggestion.ts';
import type { NodePath } from '../source/tree.ts';
import { type Path, pathRoots } from './definition.ts';

export type PathRoot = Path['root'];

const roots: readonly string[] = pathRoots;

/** Parses a path. If the text is not a path, `wrong` is the problem. `allowed` are the roots with which a path may begin here. */
export function parsePath(text: string, allowed: readonly PathRoot[]): Path | { readonly wrong: string } {
  const [root = '', ...keys] = text.split('.');
  const list = allowed.map(name => `"${name}."`).join(' or ');
  const refuse = (rule: string) => ({ wrong: `${quote(text)}: ${rule}` });
  if (/[{}]/.test(text)) return refuse('write the path without braces');
  if (/[[\]]/.test(text)) return refuse('write list indexes with dots, as in payload.items.0');
  if (!roots.includes(root)) return refuse(`a path begins with ${list}${didYouMean(root, allowed)}`);
  if (!allowed.includes(root as PathRoot)) return refuse(`a path here begins with ${list}`);
  if (keys.some(key => key === '' || key.trim() !== key)) return refuse('a path has a name after every dot');
  return { root: root as PathRoot, keys };
}

/** Parses a value as a path. Null: it is not a path. Reports text that is not a path; the schema reports empty text and other values. */
export function readPath(value: unknown, allowed: readonly PathRoot[], at: NodePath, reportAt: ReportAt): Path | null {
  if (typeof value !== 'string' || value === '') return null;
  const path = parsePath(value, allowed);
  if (!('wrong' in path)) return path;
  reportAt(at, path.wrong);
  return null;
}

/** The text in quotes, for messages; cut after 60 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
