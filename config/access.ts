// Reads the settings that clients of the service need: address, state directory and API tokens. Files and keys that
// cannot be read are skipped.
//
// The service requires a valid configuration; its clients do not. For them, an unset variable, a broken plugin or a
// wrong key outside these settings does not matter. If a setting cannot be read, its default is returned with the
// problems that were found.
import { type ConfigProblem, formatProblems, reportIn } from './check/problem.ts';
import type { ApiToken, ListenAddress } from './config.ts';
import { parseListen } from './quantity.ts';
import type { ReadOptions } from './reading.ts';
import { readApi } from './section/api.ts';
import { readState } from './section/service.ts';
import { diskFiles } from './source/files.ts';
import { readClosure } from './source/includes.ts';
import { findMainFile } from './source/main-file.ts';
import { isEmptyNode, type NodePath, nodeAt, type SourceNode, textOf } from './source/tree.ts';

type AccessOptions = Pick<ReadOptions, 'path' | 'env' | 'cwd' | 'disk'>;

/**
 * `doubts`: the problems of the setting, as lines `file:line:column: path: what is wrong`. If the list is not empty,
 * the service may use another value than `value`.
 */
export type Setting<T> = { readonly value: T; readonly doubts: readonly string[] };

export type ClientAccess = {
  readonly mainFile: string;
  readonly enabled: boolean;
  readonly listen: Setting<ListenAddress>;
  /** Whether the API uses HTTPS. */
  readonly hasTls: boolean;
  readonly statePath: Setting<string>;
  /** The API tokens that could be read and consist of visible ASCII characters. */
  readonly tokens: Setting<readonly ApiToken[]>;
};

/** Reads the settings that clients need. Returns a message if there is no main file. */
export function readAccess({ path, env, cwd, disk = diskFiles }: AccessOptions): ClientAccess | string {
  const main = findMainFile(path, env, cwd, disk);
  if (!main.ok) return main.problem;
  const problems: ConfigProblem[] = [];
  const report = (problem: ConfigProblem): void => void problems.push(problem);
  const { files, merged } = readClosure(main.file, disk, env, report);
  const unresolved = new Set(problems.filter(({ isCause }) => isCause).map(({ place }) => place));
  const root = withoutValues(merged, node => isEmptyNode(node) || unresolved.has(node.place));

  /**
   * The problems at, above or within the setting. `isKnown`: the setting was read, so problems with whole files and with
   * `include` do not count.
   */
  const doubtsAbout = (setting: NodePath, isKnown: boolean): string[] => {
    const wrong = problems.filter(({ path: at }) => {
      if (at.length === 0 || at[0] === 'include') return !isKnown;
      return at.every((key, index) => index >= setting.length || key === setting[index]);
    });
    return formatProblems(wrong, files);
  };

  const reportAt = reportIn(root, report);
  const { enabled, listen, tokens } = readApi(root, () => {});
  const listenNode = nodeAt(root, 'api', 'listen');
  const isListenRead = parseListen(textOf(listenNode)) !== undefined;
  if (listenNode !== undefined && !isListenRead)
    reportAt(['api', 'listen'], 'is not valid; it must be a host and a port such as 127.0.0.1:8080');
  const usable = tokens.filter(({ token }) => /^[!-~]+$/.test(token));
  const pathNode = nodeAt(root, 'state', 'path');
  const isPathRead = textOf(pathNode) !== undefined;
  if (pathNode !== undefined && !isPathRead)
    reportAt(['state', 'path'], 'is not valid; it must be a path such as ./data');
  return {
    mainFile: main.file,
    enabled,
    hasTls: nodeAt(root, 'api', 'tls') !== undefined,
    listen: { value: listen, doubts: doubtsAbout(['api', 'listen'], isListenRead) },
    statePath: { value: readState(root, main.file).path, doubts: doubtsAbout(['state', 'path'], isPathRead) },
    tokens: { value: usable, doubts: doubtsAbout(['api', 'auth', 'tokens'], usable.length > 0) },
  };
}

/** The source tree without the values for which `isUnset` holds: a key without a value is unset, and so is one whose variables could not be replaced. */
function withoutValues(node: SourceNode, isUnset: (node: SourceNode) => boolean): SourceNode {
  if (node.kind === 'scalar') return node;
  const inner = (value: SourceNode): SourceNode => withoutValues(value, isUnset);
  if (node.kind === 'list') return { ...node, items: node.items.filter(item => !isUnset(item)).map(inner) };
  const entries = [...node.entries].filter(([, { value }]) => !isUnset(value));
  return { ...node, entries: new Map(entries.map(([key, entry]) => [key, { ...entry, value: inner(entry.value) }])) };
}
