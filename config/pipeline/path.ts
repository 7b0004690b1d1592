// Paths into the data of a step, as pipelines write them: `payload.items.0.name`.
import { type Path, pathRoots } from './definition.ts';
import { describe, type Place, report } from './problems.ts';
import { didYouMean } from './suggestion.ts';

export type PathRoot = Path['root'];

const roots: readonly string[] = pathRoots;

/** What is wrong with the text of a path, or the path. `allowed` are the roots that make sense at its place. */
export function parsePath(text: string, allowed: readonly PathRoot[]): Path | { readonly wrong: string } {
  const [root = '', ...keys] = text.split('.');
  const list = allowed.map(name => `"${name}."`).join(' or ');
  if (/[{}]/.test(text)) return { wrong: `${describe(text)}: write the path without braces` };
  if (/[[\]]/.test(text)) return { wrong: `${describe(text)}: write list places with dots, as in payload.items.0` };
  if (!roots.includes(root))
    return { wrong: `${describe(text)}: a path begins with ${list}${didYouMean(root, allowed)}` };
  if (!allowed.includes(root as PathRoot)) return { wrong: `${describe(text)}: a path here begins with ${list}` };
  if (keys.some(key => key === '' || key.trim() !== key)) {
    return { wrong: `${describe(text)}: a path has a name after every dot` };
  }
  return { root: root as PathRoot, keys };
}

/** As parsePath, for any value of the configuration; reports what is wrong. */
export function checkPath(value: unknown, allowed: readonly PathRoot[], place: Place): Path | null {
  if (typeof value !== 'string') {
    report(place, `must be a path like payload.items, not ${describe(value)}`);
    return null;
  }
  const path = parsePath(value, allowed);
  if ('wrong' in path) {
    report(place, path.wrong);
    return null;
  }
  return path;
}
