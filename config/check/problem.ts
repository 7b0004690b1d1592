// The problems of the configuration, and the lines that report them.
import { type NodePath, nodeAt, placesAt, type SourceLocation, type SourceNode } from '../source/tree.ts';

/** A problem at a path of the configuration. `place` is null if the problem is in no file. */
export type ConfigProblem = {
  readonly place: SourceLocation | null;
  readonly path: NodePath;
  readonly message: string;
  /**
   * True: this problem causes the other problems at the same place. They are left out, unless they are causes
   * themselves.
   */
  readonly isCause?: true;
};
export type Report = (problem: ConfigProblem) => void;
/** Reports a problem with the value at a path of a source tree, or with the key of that value. */
export type ReportAt = (path: NodePath, message: string, at?: 'key' | 'value') => void;

export function reportIn(root: SourceNode, report: Report): ReportAt {
  return (path, message, at = 'value') => report({ place: placesAt(root, path)[at], path, message });
}

/** `asWritten` replaces a value of at least this length even where the message has the value without quotes. */
const unquotedCharactersMin = 8;

/**
 * If the value at the problem's path was written with a variable, replaces the value in the message by the text in the
 * file. Variables can hold secrets.
 */
export function asWritten(root: SourceNode, problem: ConfigProblem): ConfigProblem {
  const node = nodeAt(root, ...problem.path);
  if (node?.kind !== 'scalar' || typeof node.value !== 'string' || !node.written.includes('${')) return problem;
  const written = node.plain ? JSON.stringify(node.written) : node.written;
  const quoted = problem.message.replaceAll(JSON.stringify(node.value), () => written);
  const isLong = node.value.length >= unquotedCharactersMin;
  return { ...problem, message: isLong ? quoted.replaceAll(node.value, () => node.written) : quoted };
}

const plainKey = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** Formats a path as `pipelines[0].steps[1].uses`. Keys that are not plain words are in brackets and quotes. */
export function formatPath(path: NodePath): string {
  return path
    .map((key, index) => {
      if (typeof key === 'number') return `[${key}]`;
      if (!plainKey.test(key)) return `[${JSON.stringify(key)}]`;
      return index === 0 ? key : `.${key}`;
    })
    .join('');
}

export function formatPlace(place: SourceLocation): string {
  return `${place.file}:${place.line}:${place.column}`;
}

/** The location of a problem as text; empty if the problem is in no file. */
export function placeText({ place }: ConfigProblem): string {
  return place === null ? '' : formatPlace(place);
}

/** Formats a problem on one line, as `file:line:column: path: what is wrong and what would be right`. */
function formatProblem(problem: ConfigProblem): string {
  return [placeText(problem), formatPath(problem.path), problem.message]
    .filter(part => part !== '')
    .join(': ')
    .replaceAll(/[\r\n]+\s*/g, ' ');
}

/**
 * The problems as lines, sorted by file (in the order of `files`), line and column. Duplicates are left out, and so are problems that are
 * consequences of others.
 */
export function formatProblems(problems: readonly ConfigProblem[], files: readonly string[]): string[] {
  const rank = (problem: ConfigProblem): number => {
    const index = files.indexOf(problem.place?.file ?? '');
    return index === -1 ? files.length : index;
  };
  const causes = new Set(problems.filter(problem => problem.isCause).map(placeText));
  const sorted = problems
    .filter(problem => problem.isCause || !causes.has(placeText(problem)))
    .sort(
      (a, b) =>
        rank(a) - rank(b) ||
        (a.place?.file ?? '').localeCompare(b.place?.file ?? '') ||
        (a.place?.line ?? 0) - (b.place?.line ?? 0) ||
        (a.place?.column ?? 0) - (b.place?.column ?? 0),
    );
  return [...new Set(sorted.map(formatProblem))];
}
